/** Maximum size of one message of a server. */
export const maxMessageBytes: number = 10 * 1024 * 1024;

/** Part of a message about {@link OversizedMessageError}. */
export const oversized = 'sent a message of more than 10 MiB';

/** A server sent a message that is too long to be read. */
export class OversizedMessageError extends Error {}

/**
 * Returns a `fetch` whose responses end with an error at the limit: the SDK reads them into memory whole.
 *
 * @param onExceeded is called at the limit, because the SDK lets a request wait whose stream of events broke
 */
export function limitedFetch(onExceeded: () => void): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const body = response.body.pipeThrough(messageLimit(isStream, onExceeded));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/** @param isStream every event counts for itself, because a stream lasts as long as its session */
function messageLimit(isStream: boolean, onExceeded: () => void): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let isLineEmpty = false;
  return new TransformStream({
    transform(chunk, controller) {
      if (!isStream) bytes += chunk.length;
      else {
        for (const byte of chunk) {
          bytes += 1;
          if (byte === lineFeed) {
            // An empty line ends an event.
            if (isLineEmpty) bytes = 0;
            isLineEmpty = true;
          } else if (byte !== carriageReturn) isLineEmpty = false;
          if (bytes > maxMessageBytes) break;
        }
      }
      if (bytes <= maxMessageBytes) {
        controller.enqueue(chunk);
        return;
      }
      controller.error(new OversizedMessageError());
      onExceeded();
    },
  });
}

const lineFeed = 10;
const carriageReturn = 13;
