import { InvalidOptionError } from '../../errors.js';
import { isLoopbackHost } from '../../loopback-host.js';
import { InvalidApiKeyError } from '../model/provider-error.js';

/** Options that every vendor's provider has. */
export interface VendorProviderOptions {
  /** API key. Never shown in an error, a log or on the dashboard. */
  apiKey: string;
  /** Base URL of the vendor's API. @default the vendor's public address */
  baseUrl?: string;
}

/** Names of the {@link VendorProviderOptions}. */
export const vendorOptionNames: readonly string[] = ['apiKey', 'baseUrl'];

/**
 * Checks an API key before the vendor package receives it, because the package would show a malformed key in its error.
 *
 * @throws {InvalidApiKeyError}
 */
export function checkApiKey(apiKey: unknown, provider: string): string {
  if (typeof apiKey !== 'string') throw new InvalidApiKeyError(provider, apiKey === null ? 'null' : typeof apiKey);
  if (apiKey === '') throw new InvalidApiKeyError(provider, 'an empty string');
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new InvalidApiKeyError(provider, `${apiKey.length} characters with a space, a line break or the like`);
  }
  return apiKey;
}

const warned = new Set<string>();

/**
 * Checks the base URL of a vendor's API. Warns of an address on a network without encryption, once per address.
 *
 * @throws {InvalidOptionError}
 */
export function checkBaseUrl(baseUrl: unknown, provider: string): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (typeof baseUrl !== 'string' || url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new InvalidOptionError(`baseUrl of ${provider}`, 'an http or https URL', baseUrl);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    // Only the origin: the refused part may be a secret.
    throw new InvalidOptionError(`baseUrl of ${provider}`, 'a URL without user, password and query', url.origin);
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !warned.has(url.origin)) {
    warned.add(url.origin);
    process.emitWarning(
      `the connection of ${provider} to ${url.origin} is not encrypted: the API key, prompts and answers are readable on the network; use https://`,
    );
  }
  return baseUrl;
}
