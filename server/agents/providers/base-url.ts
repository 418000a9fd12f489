import { InvalidOptionError } from '../../errors.js';

/** Checks the address of a vendor's interface. @throws {InvalidOptionError} */
export function checkBaseUrl(baseUrl: unknown, provider: string): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (typeof baseUrl !== 'string' || url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new InvalidOptionError(`baseUrl of ${provider}`, 'an http or https URL', baseUrl);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    // Not shown whole: what is wrong with it may be a secret.
    throw new InvalidOptionError(`baseUrl of ${provider}`, 'a URL without user, password and query', url.origin);
  }
  return baseUrl;
}
