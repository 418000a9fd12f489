import { ProviderError } from '../model/provider-error.js';

const maxRedirects = 5;

/**
 * Creates a `fetch` that follows redirects only within the origin of the request: a redirect to another one would pass
 * the API key and the prompt to a server that nobody chose.
 *
 * @param provider name in the error
 */
export function sameOriginFetch(provider: string): typeof fetch {
  return async (input, init) => {
    let url = input instanceof Request ? input.url : String(input);
    for (let redirects = 0; ; redirects += 1) {
      const response = await fetch(input instanceof Request ? input : url, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      await response.body?.cancel();
      const target = new URL(location, url);
      // 301 to 303 turn the call into a GET without its body, which no vendor answers.
      const isRepeatable = (response.status === 307 || response.status === 308) && !(input instanceof Request);
      if (target.origin !== new URL(url).origin || !isRepeatable || redirects === maxRedirects) {
        throw new ProviderError(
          `${provider} redirects (${response.status}) to ${target.origin}; set baseUrl to the final address`,
          { provider, statusCode: response.status, retryable: false },
        );
      }
      url = target.href;
    }
  };
}
