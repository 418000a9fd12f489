import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { AgentStream } from '../agent/agent-stream.js';
import type { UIMessageChunk } from './ui-message-chunk.js';
import { UIMessageWriter } from './ui-message-writer.js';

/** Options of {@link toUIMessageStream}. */
export interface UIMessageStreamOptions {
  /** Sends tool calls with their arguments and results. @default true */
  sendTools?: boolean;
  /**
   * Returns the text that the browser shows for the error of the run or of a tool call. An error can quote a model, a
   * tool or a vendor. @default () => 'An error occurred.'
   */
  onError?: (error: unknown) => string;
}

/** Options of {@link toUIMessageResponse}. */
export interface UIMessageResponseOptions extends UIMessageStreamOptions {
  /** Headers of the response, in addition to those of the protocol. */
  headers?: Readonly<Record<string, string>>;
}

/**
 * Converts the events of a run into the AI SDK's UI message stream, which `useChat` and `readUIMessageStream` read.
 * Contains the texts of the run, and its tool calls: no system prompt, no transcript and no token usage. Cancelling the
 * stream aborts the run.
 *
 * @example
 * const stream = toUIMessageStream(agent.stream(question));
 *
 * @throws {InvalidOptionError}
 */
export function toUIMessageStream(
  stream: AgentStream,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIMessageChunk> {
  if (typeof stream?.[Symbol.asyncIterator] !== 'function') {
    throw new InvalidOptionError('stream of toUIMessageStream', 'the stream of an agent', stream);
  }
  const check = new OptionChecker(options, ['sendTools', 'onError'], 'toUIMessageStream');
  const { sendTools = true, onError = () => 'An error occurred.' } = options;
  check.boolean('sendTools', sendTools);
  check.function('onError', onError);
  const writer = new UIMessageWriter(sendTools, onError);
  const events = stream[Symbol.asyncIterator]();
  return new ReadableStream<UIMessageChunk>({
    start(controller) {
      controller.enqueue({ type: 'start' });
    },
    async pull(controller) {
      try {
        // An event without chunks does not answer a pull.
        for (let count = 0; count === 0; ) {
          const { done, value } = await events.next();
          if (done === true) {
            controller.close();
            return;
          }
          const chunks = writer.write(value);
          count = chunks.length;
          for (const chunk of chunks) controller.enqueue(chunk);
        }
      } catch (error) {
        for (const chunk of writer.fail(error)) controller.enqueue(chunk);
        controller.close();
      }
    },
    async cancel() {
      await events.return?.();
    },
  });
}

/**
 * Converts the events of a run into an HTTP response for `useChat`: server-sent events in the AI SDK's UI message stream
 * protocol. A client that disconnects aborts the run.
 *
 * @example
 * // Hono, Next, and every other framework with web responses
 * app.post('/api/chat', async (c) => toUIMessageResponse(agent.stream(questionOf(await c.req.json()))));
 *
 * @throws {InvalidOptionError}
 */
export function toUIMessageResponse(
  stream: AgentStream,
  { headers, ...options }: UIMessageResponseOptions = {},
): Response {
  const encoder = new TextEncoder();
  const encode = new TransformStream<UIMessageChunk, Uint8Array>({
    transform: (chunk, controller) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(chunk)}\n\n`)),
    flush: (controller) => controller.enqueue(encoder.encode('data: [DONE]\n\n')),
  });
  return new Response(toUIMessageStream(stream, options).pipeThrough(encode), {
    headers: { ...protocolHeaders, ...headers },
  });
}

const protocolHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  // Proxies such as nginx would hold the events back.
  'x-accel-buffering': 'no',
};
