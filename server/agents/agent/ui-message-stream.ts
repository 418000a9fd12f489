import { InvalidOptionError, ignoreRejection } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import { isMedia, type MediaPart } from '../model/part.js';
import type { Source, VendorCall } from '../model/vendor-parts.js';
import { type AgentStream, type AgentStreamEvent, isAbortedBy } from './agent-stream.js';
import type { AgentRunResult } from './run-result.js';

/** Options of {@link toUIMessageStream}. */
export interface UIMessageStreamOptions {
  /** Sends tool calls with their arguments and results. @default true */
  sendTools?: boolean;
  /** Sends the texts of the model's reasoning. @default true */
  sendReasoning?: boolean;
  /** Sends the sources of the answers. @default true */
  sendSources?: boolean;
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
  const writer = createUIMessageWriter(options, new OptionChecker(options, writerOptions, 'toUIMessageStream'));
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

/** Names of the options of a writer. */
export const writerOptions: readonly string[] = ['sendTools', 'sendReasoning', 'sendSources', 'onError'];

/** Checks the options of a stream. @throws {InvalidOptionError} */
export function createUIMessageWriter(options: UIMessageStreamOptions, check: OptionChecker): UIMessageWriter {
  const { sendTools = true, sendReasoning = true, sendSources = true, onError = () => defaultErrorText } = options;
  check.boolean('sendTools', sendTools);
  check.boolean('sendReasoning', sendReasoning);
  check.boolean('sendSources', sendSources);
  check.function('onError', onError);
  return new UIMessageWriter({ sendTools, sendReasoning, sendSources }, (error) => errorTextOf(onError, error));
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

/** Headers of the protocol. */
export const protocolHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  // Proxies such as nginx would hold the events back.
  'x-accel-buffering': 'no',
};

/** Parts that a writer sends. */
type Sent = Readonly<Record<'sendTools' | 'sendReasoning' | 'sendSources', boolean>>;

type ToolInputChunk = Extract<UIMessageChunk, { type: 'tool-input-available' | 'tool-input-error' }>;

/** Converts the events of one run into chunks. */
export class UIMessageWriter {
  readonly #sends: Sent;
  readonly #errorText: (error: unknown) => string;
  #turn = 0;
  /** Text that is open. */
  #open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
  /** Number of texts of the turn, so that each has an id of its own. */
  #texts = 0;
  /** Calls whose arguments could not be read: the error of their input is their end. */
  readonly #unreadable = new Set<string>();
  /** Calls that were written: none without `sendTools`, and a reader may have missed that of a result. */
  readonly #calls = new Set<string>();

  constructor(sends: Sent, errorText: (error: unknown) => string) {
    this.#sends = sends;
    this.#errorText = errorText;
  }

  /** Returns the chunks of an event. */
  write(event: AgentStreamEvent): UIMessageChunk[] {
    switch (event.type) {
      case 'text-delta':
        return [...this.#enter(event.turn), ...this.#text('text', event.turn, event.text)];
      case 'sent-text':
        return [...this.#enter(event.turn), { type: 'data-sent-text', id: event.id, data: { text: event.text } }];
      case 'reasoning-delta':
        if (!this.#sends.sendReasoning) return [];
        return [...this.#enter(event.turn), ...this.#text('reasoning', event.turn, event.text)];
      case 'object-delta':
        return [{ type: 'data-object', id: `object-${event.turn}`, data: event.unvalidated }];
      case 'tool-call':
        return this.#sends.sendTools
          ? [...this.#enter(event.turn), ...this.#endText(), this.#call(event.toolCall)]
          : [];
      case 'approval-requested': {
        const { toolCallId, approvalId } = event;
        return this.#calls.has(toolCallId) ? [{ type: 'tool-approval-request', approvalId, toolCallId }] : [];
      }
      case 'tool-result':
        return this.#result(event.toolResult, event.denied === true);
      case 'source':
        return this.#sends.sendSources ? [...this.#enter(event.turn), toSourceChunk(event.source)] : [];
      case 'vendor-call':
        return this.#sends.sendTools ? [...this.#enter(event.turn), ...this.#vendorCall(event.call)] : [];
      case 'handoff': {
        const { turn, from, to } = event;
        return [{ type: 'data-handoff', id: `handoff-${turn}`, data: { from, to } }];
      }
      case 'run-end':
        return this.end(event.result);
      default:
        return [];
    }
  }

  /** Returns the chunks of the end of a run. */
  end({ status, truncated, error }: Pick<AgentRunResult, 'status' | 'truncated' | 'error'>): UIMessageChunk[] {
    const left = this.#leave();
    if (status === 'failed') {
      const errorText = this.#errorText(error);
      return [...left, { type: 'error', errorText }, { type: 'finish', finishReason: 'error' }];
    }
    const isCut = status === 'token_budget_exceeded' || truncated === true;
    const finished = status === 'max_iterations' ? 'tool-calls' : 'stop';
    return [...left, { type: 'finish', finishReason: isCut ? 'length' : finished }];
  }

  /** Returns the chunks of a run that was cancelled. */
  abort(): UIMessageChunk[] {
    return [...this.#leave(), { type: 'abort' }];
  }

  /** Returns the chunks of a run that rejected. */
  fail(error: unknown, isAborted: boolean): UIMessageChunk[] {
    const isAbort = error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
    if (isAborted || isAbort) return this.abort();
    return [...this.#leave(), { type: 'error', errorText: this.#errorText(error) }];
  }

  #enter(turn: number): UIMessageChunk[] {
    if (turn === this.#turn) return [];
    const left = this.#leave();
    this.#turn = turn;
    this.#texts = 0;
    return [...left, { type: 'start-step' }];
  }

  #leave(): UIMessageChunk[] {
    if (this.#turn === 0) return [];
    this.#turn = 0;
    return [...this.#endText(), { type: 'finish-step' }];
  }

  #text(kind: 'text' | 'reasoning', turn: number, delta: string): UIMessageChunk[] {
    if (delta === '') return [];
    if (this.#open?.kind === kind) return [{ type: `${kind}-delta`, id: this.#open.id, delta }];
    const ended = this.#endText();
    this.#texts += 1;
    const id = this.#texts === 1 ? `${kind}-${turn}` : `${kind}-${turn}-${this.#texts}`;
    this.#open = { kind, id };
    return [...ended, { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }];
  }

  #endText(): UIMessageChunk[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [{ type: `${open.kind}-end`, id: open.id }];
  }

  #call({ id: toolCallId, name: toolName, arguments: text }: ToolCall): ToolInputChunk {
    this.#calls.add(toolCallId);
    try {
      const input: unknown = text.trim() === '' ? {} : JSON.parse(text);
      return { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true };
    } catch (error) {
      this.#unreadable.add(toolCallId);
      const errorText = this.#errorText(error);
      return { type: 'tool-input-error', toolCallId, toolName, input: text, errorText, dynamic: true };
    }
  }

  #vendorCall(call: VendorCall): UIMessageChunk[] {
    const { id, result, isError } = call;
    const providerExecuted = true as const;
    const begun = this.#calls.has(id) ? [] : [...this.#endText(), { ...this.#call(call), providerExecuted }];
    if (result === undefined || this.#unreadable.has(id)) return begun;
    const output = { toolCallId: id, providerExecuted, dynamic: true as const };
    if (isError !== true) return [...begun, { type: 'tool-output-available', ...output, output: toJson(result) }];
    const errorText = this.#errorText(new Error(JSON.stringify(result)));
    return [...begun, { type: 'tool-output-error', ...output, errorText }];
  }

  #result({ toolCallId, result, parts = [], error }: ToolResult, isDenied: boolean): UIMessageChunk[] {
    if (!this.#calls.has(toolCallId) || this.#unreadable.has(toolCallId)) return [];
    if (isDenied) return [{ type: 'tool-output-denied', toolCallId }];
    if (error === undefined) {
      const files = parts.filter(isMedia).map(toFileChunk);
      return [{ type: 'tool-output-available', toolCallId, output: toJson(result), dynamic: true }, ...files];
    }
    const errorText = this.#errorText(new Error(error));
    return [{ type: 'tool-output-error', toolCallId, errorText, dynamic: true }];
  }
}

function toSourceChunk(source: Source): UIMessageChunk {
  const { id: sourceId, title } = source;
  if (source.type === 'url') {
    return { type: 'source-url', sourceId, url: source.url, ...(title !== undefined && { title }) };
  }
  const { mediaType, filename } = source;
  const named = { title: title ?? filename ?? mediaType, ...(filename !== undefined && { filename }) };
  return { type: 'source-document', sourceId, mediaType, ...named };
}

function toFileChunk({ mediaType, data, url }: MediaPart): UIMessageChunk {
  return { type: 'file', mediaType, url: data === undefined ? url : `data:${mediaType};base64,${data}` };
}

/** Returns the value as its JSON shows it; `null` if it has none. A successful result has, except for `undefined`. */
function toJson(value: unknown): unknown {
  const json = JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
  return json === undefined ? null : JSON.parse(json);
}

/** Part of an answer in the AI SDK's UI message stream protocol. */
export type UIMessageChunk =
  | { type: 'start'; messageId?: string }
  | { type: 'start-step' }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | { type: 'reasoning-start'; id: string }
  | { type: 'reasoning-delta'; id: string; delta: string }
  | { type: 'reasoning-end'; id: string }
  /** Typed answer so far, not validated. Each takes the place of the one before it. */
  | { type: 'data-object'; id: string; data: unknown }
  /** Text that `hub.send` sent to the run, where a turn read it. */
  | { type: 'data-sent-text'; id: string; data: { text: string } }
  /** Agent `from` has handed the conversation over to agent `to`, which answers from here on. */
  | { type: 'data-handoff'; id: string; data: { from: string; to: string } }
  /** Part that a tool or a step published. With an `id`, it takes the place of the one before it. */
  | { type: `data-${string}`; id?: string; data: unknown; transient?: boolean }
  /** `providerExecuted`: the vendor runs the tool, here and below. */
  | {
      type: 'tool-input-available';
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: true;
      dynamic: true;
    }
  | {
      type: 'tool-input-error';
      toolCallId: string;
      toolName: string;
      input: unknown;
      errorText: string;
      providerExecuted?: true;
      dynamic: true;
    }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; providerExecuted?: true; dynamic: true }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string; providerExecuted?: true; dynamic: true }
  /** Page that the vendor found, or that the answer cites. */
  | { type: 'source-url'; sourceId: string; url: string; title?: string }
  /** Document that the vendor found, or that the answer cites. */
  | { type: 'source-document'; sourceId: string; mediaType: string; title: string; filename?: string }
  /** Image, audio or file of a tool's result: an address, or a `data:` URL. */
  | { type: 'file'; mediaType: string; url: string }
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'finish-step' }
  | { type: 'finish'; finishReason: 'stop' | 'length' | 'tool-calls' | 'error' }
  | { type: 'error'; errorText: string }
  | { type: 'abort' };
