import { RequestError, statusError } from './request-error.js';

/** A request without a whole answer is given up after this time. */
export const REQUEST_TIMEOUT_MS = 10_000;

/** A document, and when it was sent. */
export interface JsonAnswer {
  readonly body: unknown;
  /** Epoch milliseconds on the server's clock, to the second; on the page's own where the server states no time. */
  readonly sentAt: number;
}

/**
 * GETs a JSON document. Revalidation (`ETag`, 304) is left to the browser's cache, so an unchanged document
 * arrives here as any other, with the time of its revalidation.
 *
 * @throws {RequestError} where there is no usable answer
 * @throws the reason of `signal`, where it aborts
 */
export async function fetchJson(url: string, signal: AbortSignal): Promise<JsonAnswer> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), REQUEST_TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      cache: 'no-cache',
      headers: { accept: 'application/json' },
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    const text = await response.text();
    if (!response.ok) throw statusError(response.status, url, errorMessage(text));
    return { body: parseJson(text), sentAt: Date.parse(response.headers.get('date') ?? '') || Date.now() };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof RequestError) throw error;
    if (timeout.signal.aborted) {
      throw new RequestError(`No answer within ${REQUEST_TIMEOUT_MS / 1000} s.`, { cause: error });
    }
    throw new RequestError('The server does not answer.', { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RequestError('The answer is not JSON. A proxy or a sign-in page may stand in between.', {
      cause,
    });
  }
}

/** The message of an error body, where there is one: whatever stands between may send any body. */
function errorMessage(text: string): string | undefined {
  try {
    const message: unknown = JSON.parse(text)?.error?.message;
    return typeof message === 'string' && message !== '' ? message : undefined;
  } catch {
    return undefined;
  }
}
