import type { Hub } from '../../hub/hub.js';
import { lastAttempts } from '../../hub/runs/stream-run.js';
import { findAuthorized, logBreak, type StreamResponseOptions, toEventBody } from '../../hub/stream-response.js';
import { OptionChecker } from '../../options.js';
import { PublishedEventReader, RepeatedTurnError } from './published-events.js';
import {
  createUIMessageWriter,
  protocolHeaders,
  type UIMessageChunk,
  type UIMessageResponseOptions,
  type UIMessageWriter,
  writerOptions,
} from './ui-message-stream.js';

/** Options of {@link resumeUIMessageResponse}. */
export interface ResumeUIMessageOptions extends UIMessageResponseOptions, StreamResponseOptions {}

/**
 * Responds with the answer of a run for `useChat`, as far as it is written, and then with the rest as it is written: in
 * any process, as often as a page is loaded or loses its connection. Reads the live output of agents that run with
 * `publish: true`. The end of the response does not stop the run; `hub.cancel` does.
 *
 * The id of the message is that of the run. A call that waits for a decision is a tool part in the state
 * `approval-requested`. What tools publish as data parts, `{ type: 'data-…', id?, data }`, is part of the answer.
 *
 * Responds with 403 if `authorize` does not return `true`, and with 204, as `useChat` expects it, if the run is unknown
 * or no longer retained. Breaks off, without an end, if the hub stops, or if a model call is repeated of which the page
 * has a part: the page then resumes, and receives the answer without that part.
 *
 * @example
 * ```ts
 * app.get('/api/chat/:id/stream', async (c) =>
 *   resumeUIMessageResponse(hub, await lastRunOf(c.req.param('id')), c.req.raw, { authorize: (request) => ownsChat(request) }),
 * );
 * ```
 * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError} and what `authorize` throws
 */
export async function resumeUIMessageResponse(
  hub: Pick<Hub, 'stream' | 'find' | 'logger' | 'transport'>,
  runId: string,
  request: Request,
  options: ResumeUIMessageOptions,
): Promise<Response> {
  const names = [...writerOptions, 'headers', 'authorize', 'service'];
  const check = new OptionChecker(options, names, 'resumeUIMessageResponse');
  const writer = createUIMessageWriter(options, check);
  const found = await findAuthorized(hub, runId, request, options, check);
  if (found === undefined) return new Response('Forbidden', { status: 403 });
  const [run] = found;
  if (run === undefined) return new Response(null, { status: 204 });
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, request.signal]);
  const texts = toEvents(chunksOf(hub, runId, run.service, writer, signal));
  const body = toEventBody(texts, left, (error) => {
    if (!(error instanceof RepeatedTurnError)) logBreak(hub.logger, runId, error, signal);
    return error instanceof Error ? error : new Error('the response broke off', { cause: error });
  });
  return new Response(body, { headers: { ...protocolHeaders, ...options.headers } });
}

async function* toEvents(chunks: AsyncIterable<UIMessageChunk>): AsyncGenerator<string, void, void> {
  for await (const chunk of chunks) yield `data: ${JSON.stringify(chunk)}\n\n`;
  yield 'data: [DONE]\n\n';
}

async function* chunksOf(
  hub: Pick<Hub, 'stream' | 'find' | 'transport'>,
  runId: string,
  service: string,
  writer: UIMessageWriter,
  signal: AbortSignal,
): AsyncGenerator<UIMessageChunk, void, void> {
  yield { type: 'start', messageId: runId };
  const reader = new PublishedEventReader(await lastAttempts(hub.transport.log, service, runId));
  let isCut = false;
  for await (const entry of hub.stream(runId, { service, signal })) {
    if (entry.type === 'data') {
      const { events, other } = reader.read(entry);
      for (const event of events) {
        if (event.type === 'turn-end') isCut = event.finishReason === 'length';
        yield* writer.write(event);
      }
      if (isDataPart(other)) yield other;
    } else if (entry.type === 'end') {
      if (entry.status === 'completed') yield* writer.end({ status: 'completed', ...(isCut && { truncated: isCut }) });
      else if (entry.status === 'cancelled') yield* writer.abort();
      else yield* writer.end({ status: 'failed', error: await errorOf(hub, runId, service) });
    }
  }
}

type DataPart = Extract<UIMessageChunk, { type: `data-${string}` }>;

function isDataPart(value: unknown): value is DataPart {
  const { type, data, id } = Object(value) as { [Key in keyof DataPart]?: unknown };
  return (
    typeof type === 'string' &&
    type.startsWith('data-') &&
    data !== undefined &&
    (id === undefined || typeof id === 'string')
  );
}

/** Returns the recorded error of a run. */
async function errorOf(hub: Pick<Hub, 'find'>, runId: string, service: string): Promise<Error> {
  const { name, message } = (await hub.find(runId)).find((event) => event.service === service)?.error ?? {
    name: 'Error',
    message: 'the run failed',
  };
  return Object.assign(new Error(message), { name });
}
