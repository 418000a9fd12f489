import { InvalidOptionError, ignoreRejection } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { type AgentStream, type AgentStreamEvent, isAbortedBy } from './agent-stream.js';
import type { AgentRunResult } from './run-result.js';

/** Options of {@link toUIMessageStream}. */
export interface UIMessageStreamOptions {
  /** Sends tool calls with their arguments and results. @default true */
  sendTools?: boolean;
  /**
   * Returns the text that the browser shows for the error of the run or of a tool call. An error can quote a model, a
   * tool or a vendor. If it throws or returns no text, the default applies. @default () => 'An error occurred.'
   */
  onError?: (error: unknown) => string | PromiseLike<string>;
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
  const { sendTools = true, onError = () => defaultErrorText } = options;
  check.boolean('sendTools', sendTools);
  check.function('onError', onError);
  const writer = new UIMessageWriter(sendTools, (error) => errorTextOf(onError, error));
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
        for (const chunk of writer.fail(error, isAbortedBy(stream, error))) controller.enqueue(chunk);
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

const defaultErrorText = 'An error occurred.';

/** Returns the text for an error. A mistake in `onError` must not cost the browser the rest of the answer. */
function errorTextOf(onError: (error: unknown) => unknown, error: unknown): string {
  try {
    const text = onError(error);
    if (typeof text === 'string') return text;
    // Untyped code may pass an asynchronous function.
    if (text instanceof Promise) ignoreRejection(text);
  } catch {
    // The run's own error is what the reader must learn of.
  }
  return defaultErrorText;
}

const protocolHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  // Proxies such as nginx would hold the events back.
  'x-accel-buffering': 'no',
};

/** Converts the events of one run into chunks. */
class UIMessageWriter {
  readonly #sendTools: boolean;
  readonly #errorText: (error: unknown) => string;
  #turn = 0;
  #textId: string | undefined;
  /** Calls whose arguments could not be read: the error of their input is their end. */
  readonly #unreadable = new Set<string>();

  constructor(sendTools: boolean, errorText: (error: unknown) => string) {
    this.#sendTools = sendTools;
    this.#errorText = errorText;
  }

  /** Returns the chunks of an event. */
  write(event: AgentStreamEvent): UIMessageChunk[] {
    switch (event.type) {
      case 'text-delta':
        return [...this.#enter(event.turn), ...this.#text(event.turn, event.text)];
      case 'tool-call':
        return this.#sendTools ? [...this.#enter(event.turn), ...this.#endText(), this.#call(event.toolCall)] : [];
      case 'tool-result':
        return this.#sendTools ? this.#result(event.toolResult) : [];
      case 'run-end':
        return [...this.#leave(), ...this.#end(event.result)];
      default:
        return [];
    }
  }

  /** Returns the chunks of a run that rejected. */
  fail(error: unknown, isAborted: boolean): UIMessageChunk[] {
    const isAbort = error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
    const last: UIMessageChunk =
      isAborted || isAbort ? { type: 'abort' } : { type: 'error', errorText: this.#errorText(error) };
    return [...this.#leave(), last];
  }

  #enter(turn: number): UIMessageChunk[] {
    if (turn === this.#turn) return [];
    const left = this.#leave();
    this.#turn = turn;
    return [...left, { type: 'start-step' }];
  }

  #leave(): UIMessageChunk[] {
    if (this.#turn === 0) return [];
    this.#turn = 0;
    return [...this.#endText(), { type: 'finish-step' }];
  }

  #text(turn: number, delta: string): UIMessageChunk[] {
    if (delta === '') return [];
    const id = `text-${turn}`;
    const start: UIMessageChunk[] = this.#textId === id ? [] : [{ type: 'text-start', id }];
    this.#textId = id;
    return [...start, { type: 'text-delta', id, delta }];
  }

  #endText(): UIMessageChunk[] {
    const id = this.#textId;
    this.#textId = undefined;
    return id === undefined ? [] : [{ type: 'text-end', id }];
  }

  #call({ id: toolCallId, name: toolName, arguments: text }: ToolCall): UIMessageChunk {
    try {
      const input: unknown = text.trim() === '' ? {} : JSON.parse(text);
      return { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true };
    } catch (error) {
      this.#unreadable.add(toolCallId);
      const errorText = this.#errorText(error);
      return { type: 'tool-input-error', toolCallId, toolName, input: text, errorText, dynamic: true };
    }
  }

  #result({ toolCallId, result, error }: ToolResult): UIMessageChunk[] {
    if (this.#unreadable.delete(toolCallId)) return [];
    if (error === undefined)
      return [{ type: 'tool-output-available', toolCallId, output: toJson(result), dynamic: true }];
    const errorText = this.#errorText(new Error(error));
    return [{ type: 'tool-output-error', toolCallId, errorText, dynamic: true }];
  }

  #end({ status, truncated, error }: AgentRunResult): UIMessageChunk[] {
    if (status === 'failed') {
      return [
        { type: 'error', errorText: this.#errorText(error) },
        { type: 'finish', finishReason: 'error' },
      ];
    }
    const isCut = status === 'token_budget_exceeded' || truncated === true;
    const finished = status === 'max_iterations' ? 'tool-calls' : 'stop';
    return [{ type: 'finish', finishReason: isCut ? 'length' : finished }];
  }
}

/** Returns the value as its JSON shows it; `null` if it has none. A successful result has, except for `undefined`. */
function toJson(value: unknown): unknown {
  const json = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
  return json === undefined ? null : JSON.parse(json);
}

/** Part of an answer in the AI SDK's UI message stream protocol. */
export type UIMessageChunk =
  | { type: 'start' }
  | { type: 'start-step' }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: unknown; dynamic: true }
  | {
      type: 'tool-input-error';
      toolCallId: string;
      toolName: string;
      input: unknown;
      errorText: string;
      dynamic: true;
    }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; dynamic: true }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string; dynamic: true }
  | { type: 'finish-step' }
  | { type: 'finish'; finishReason: 'stop' | 'length' | 'tool-calls' | 'error' }
  | { type: 'error'; errorText: string }
  | { type: 'abort' };
