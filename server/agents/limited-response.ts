/** Limit of what is read of a response. */
export interface ResponseLimit {
  readonly maxBytes: number;
  /** Each server-sent event counts for itself: for a stream that lasts as long as its session. @default false */
  readonly isPerEvent?: boolean;
  /** Returns the error with which the reading ends at the limit. */
  readonly onExceeded: () => Error;
}

/**
 * Returns a response whose body ends with an error at the limit, for a reader that holds all of it in memory. The
 * connection is aborted then. Bytes count as they are read: after decompression.
 */
export function limitedResponse(response: Response, limit: ResponseLimit): Response {
  if (response.body === null) return response;
  const { status, statusText, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const body = response.body.pipeThrough(byteLimit(limit, isStream && limit.isPerEvent === true));
  return new Response(body, { status, statusText, headers });
}

function byteLimit(
  { maxBytes, onExceeded }: ResponseLimit,
  isPerEvent: boolean,
): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isLineEmpty = false;
  return new TransformStream({
    transform(chunk, controller) {
      if (!isPerEvent) bytes += chunk.length;
      else {
        for (const byte of chunk) {
          bytes += 1;
          if (byte === lineFeed) {
            // An empty line ends an event.
            if (isLineEmpty) bytes = 0;
            isLineEmpty = true;
          } else if (byte !== carriageReturn) isLineEmpty = false;
          if (bytes > maxBytes) break;
        }
      }
      if (bytes <= maxBytes) controller.enqueue(chunk);
      else controller.error(onExceeded());
    },
  });
}

const lineFeed = 10;
const carriageReturn = 13;
