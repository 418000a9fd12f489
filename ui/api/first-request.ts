/** Request that the head of the page sent before this script had loaded. */
export interface FirstRequest {
  readonly url: string;
  readonly response: Promise<Response>;
  readonly abort: AbortController;
}

declare global {
  var firstRequest: FirstRequest | undefined;
}

/** Returns the response to the first request of the page once, if it is for this URL. */
export function takeFirstResponse(url: string, signal: AbortSignal): Promise<Response> | undefined {
  const request = globalThis.firstRequest;
  globalThis.firstRequest = undefined;
  if (request?.url !== url) return undefined;
  signal.addEventListener('abort', () => request.abort.abort(), { once: true });
  return request.response;
}
