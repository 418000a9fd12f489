/** Time after which a request without a complete response is aborted. */
export const REQUEST_TIMEOUT_MS = 10_000;

/** JSON document with the time at which it was sent. */
export interface JsonResponse {
  readonly body: unknown;
  /** Epoch milliseconds from the `Date` header, with a resolution of one second; the page's own time if it is absent. */
  readonly sentAt: number;
}

/**
 * GETs a JSON document. The browser's cache does the revalidation (`ETag`, 304), so an unchanged document is returned
 * like any other, with the time of its revalidation.
 *
 * @throws {RequestError} if there is no usable response
 * @throws the reason of `signal` if it aborts
 */
export async function fetchJson(url: string, signal: AbortSignal): Promise<JsonResponse> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), REQUEST_TIMEOUT_MS);
  try {
    const ended = AbortSignal.any([signal, timeout.signal]);
    const response = await (takeFirstResponse(url, ended) ??
      fetch(url, { cache: 'no-cache', headers: { accept: 'application/json' }, signal: ended }));
    const text = await response.text();
    if (!response.ok) throw statusError(response.status, url, errorMessage(text));
    return { body: parseJson(text), sentAt: Date.parse(response.headers.get('date') ?? '') || Date.now() };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof RequestError) throw error;
    if (timeout.signal.aborted) {
      throw new RequestError(`No response within ${REQUEST_TIMEOUT_MS / 1000} s.`, { cause: error });
    }
    throw new RequestError('The server does not respond.', { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RequestError('The response is not JSON. It may come from a proxy or a sign-in page.', {
      cause,
    });
  }
}

/** Returns the message of an error body, if it has one. A proxy may send any body. */
function errorMessage(text: string): string | undefined {
  try {
    const message: unknown = JSON.parse(text)?.error?.message;
    return typeof message === 'string' && message !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}

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
function takeFirstResponse(url: string, signal: AbortSignal): Promise<Response> | undefined {
  const request = globalThis.firstRequest;
  globalThis.firstRequest = undefined;
  if (request?.url !== url) return undefined;
  signal.addEventListener('abort', () => request.abort.abort(), { once: true });
  return request.response;
}

/** Error of a request without a usable response. The page shows its message to the user. */
export class RequestError extends Error {
  /** Message of a dashboard that does not know the requested event, run or request. */
  readonly notFound: string | undefined;

  constructor(message: string, options: ErrorOptions & { readonly notFound?: string | undefined } = {}) {
    super(message, options);
    this.notFound = options.notFound;
  }
}

/**
 * Creates the error for a response whose status is not 200.
 *
 * @param detail message from the body, if it has one
 */
export function statusError(status: number, url: string, detail: string | undefined): RequestError {
  const serverMessage = detail === undefined ? '' : ` Message: ${detail}`;
  switch (status) {
    case 401:
      return new RequestError('You are not signed in (401). Sign in and retry.');
    case 403:
      return new RequestError('You have no access to this dashboard (403).');
    case 404:
      return new RequestError(
        `Nothing is served at ${url} (404).${serverMessage || ' Check the mount path of the dashboard and its basePath.'}`,
        { notFound: detail },
      );
    case 503:
      return new RequestError(`The server is not ready (503).${serverMessage}`);
    default:
      return new RequestError(`The server responded with an error (${status}).${serverMessage}`);
  }
}
