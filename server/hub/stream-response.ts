import { OptionChecker } from '../options.js';
import { HubStoppedError } from './errors.js';
import type { Hub } from './hub.js';
import type { EventDetails } from './introspection/event-search.js';
import type { StreamEvent } from './runs/stream-run.js';

/** Options of {@link createStreamResponse}. */
export interface StreamResponseOptions {
  /**
   * Returns `true` if the request may read the output of the run. Required: ids of runs are shown on the dashboard, and
   * are no secret.
   */
  authorize: (request: Request, runId: string) => boolean | Promise<boolean>;
  /** Service that handles the event, if several do. See `hub.stream`. */
  service?: string;
}

// Proxies close connections that are silent for a minute.
const pingMs = 15_000;

/**
 * Responds with the live output of a run as server-sent events. A browser that reconnects continues after the event that
 * it received last, by its header `Last-Event-ID`; a page that keeps that id passes it as the parameter `lastEventId`.
 * Entries are events of the type `message`, and `missed` and `end` are types of their own; `data` is the JSON of a
 * {@link StreamEvent}. The end of the response does not stop the run.
 *
 * Responds with 403 if `authorize` does not return `true`, 404 if the run is unknown or no longer retained, and 204 if the
 * browser has the end, so that an `EventSource` does not reconnect. If the hub stops, the response ends without `end`, and
 * the browser reconnects.
 *
 * @example
 * ```ts
 * app.get('/runs/:id/output', (c) =>
 *   createStreamResponse(hub, c.req.param('id'), c.req.raw, { authorize: (request, id) => ownsRun(request, id) }),
 * );
 * ```
 * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError} and what `authorize` throws
 */
export async function createStreamResponse(
  hub: Pick<Hub, 'stream' | 'find' | 'logger'>,
  runId: string,
  request: Request,
  options: StreamResponseOptions,
): Promise<Response> {
  const check = new OptionChecker(options, ['authorize', 'service'], 'createStreamResponse');
  const { service } = options;
  const found = await findAuthorized(hub, runId, request, options, check);
  if (found === undefined) return new Response('Forbidden', { status: 403 });
  if (found.length === 0) return new Response('Not found', { status: 404 });
  const { from, hasEnd } = positionOf(request);
  if (hasEnd && found.every(({ endedAt }) => endedAt !== undefined)) return new Response(null, { status: 204 });
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, request.signal]);
  const events = hub.stream(runId, { from, signal, ...(service !== undefined && { service }) });
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Nginx would hold back what is short.
    'x-accel-buffering': 'no',
  };
  const texts = encodeEvents(events);
  const onError = (err: unknown): undefined => logBreak(hub.logger, runId, err, signal);
  return new Response(toEventBody(texts, left, onError), { headers });
}

/** Logs why a response ended early, unless the browser left or the hub stops. */
export function logBreak(logger: Hub['logger'], runId: string, err: unknown, left: AbortSignal): undefined {
  const isExpected = left.aborted || HubStoppedError.is(err);
  if (!isExpected) logger.warn({ err, runId }, 'a response with live output ended early');
}

/**
 * Returns the entries of a run or an event, one per service; `undefined` if the request may not read it.
 *
 * @throws {InvalidOptionError} and what `authorize` throws
 */
export async function findAuthorized(
  hub: Pick<Hub, 'find'>,
  runId: string,
  request: Request,
  { authorize, service }: StreamResponseOptions,
  check: OptionChecker,
): Promise<readonly EventDetails[] | undefined> {
  check.required('authorize', authorize);
  check.function('authorize', authorize);
  check.name('service', service);
  if ((await authorize(request, runId)) !== true) return undefined;
  return (await hub.find(runId)).filter((event) => service === undefined || event.service === service);
}

/** Returns the place at which a browser continues. An id that is none of ours begins anew. */
function positionOf(request: Request): { readonly from: number; readonly hasEnd: boolean } {
  const id = request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('lastEventId') ?? '';
  const [, sequence, end] = /^(\d{1,15})(\.end)?$/.exec(id) ?? [];
  if (sequence === undefined) return { from: 0, hasEnd: false };
  return { from: Number(sequence) + (end === undefined ? 1 : 0), hasEnd: end !== undefined };
}

async function* encodeEvents(events: AsyncIterable<StreamEvent>): AsyncGenerator<string, void, void> {
  for await (const event of events) yield encodeEvent(event);
}

/**
 * Returns the body of a response of server-sent events. It reads only what the browser takes.
 *
 * @param left aborts when the browser leaves
 * @param onError receives the error of `texts`. An error that it returns breaks the response off; otherwise it ends.
 */
export function toEventBody(
  texts: AsyncGenerator<string, void, void>,
  left: AbortController,
  onError: (error: unknown) => Error | undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let ping: NodeJS.Timeout | undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        controller.enqueue(encoder.encode(': open\n\n'));
        ping = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(': ping\n\n'));
        }, pingMs);
        ping.unref();
      },
      async pull(controller) {
        let broken: Error | undefined;
        try {
          const { done, value } = await texts.next();
          if (done !== true) {
            controller.enqueue(encoder.encode(value));
            return;
          }
        } catch (error) {
          broken = onError(error);
        }
        clearInterval(ping);
        if (broken === undefined) controller.close();
        else controller.error(broken);
      },
      async cancel() {
        clearInterval(ping);
        left.abort();
        await texts.return();
      },
    },
    { highWaterMark: 16 },
  );
}

function encodeEvent(event: StreamEvent): string {
  const { type, sequence } = event;
  const id = type === 'end' ? `${sequence}.end` : type === 'missed' ? sequence - 1 : sequence;
  return `${type === 'data' ? '' : `event: ${type}\n`}id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
