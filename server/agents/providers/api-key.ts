import { InvalidApiKeyError } from './provider-error.js';

/**
 * Checks what is going to be a header. The key itself must not get into an error, which is why the
 * vendor package, whose error would show it, never sees a key that cannot be sent.
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
