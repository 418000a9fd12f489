import { StreamClosedError, StreamLockedError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import type { FinishReason } from '../model/model-provider.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { Source, VendorCall } from '../model/vendor-parts.js';
import type { SettledAgentRun } from './run-result.js';

/** Value of which any part may be missing. */
export type DeepPartial<T> = T extends readonly (infer TItem)[]
  ? DeepPartial<TItem>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T;

/** Event of a run. Turns start at 1. */
export type AgentStreamEvent<TData = unknown> =
  | { readonly type: 'text-delta'; readonly turn: number; readonly text: string }
  /** The turn begins with a text that `hub.send` sent to the run. */
  | { readonly type: 'sent-text'; readonly turn: number; readonly id: string; readonly text: string }
  /** Text of the model's reasoning. A repeated model call and a replayed answer may repeat or omit it. */
  | { readonly type: 'reasoning-delta'; readonly turn: number; readonly text: string }
  /** Answer of an agent with an `outputSchema` so far: what is incomplete is missing, and nothing is validated. */
  | { readonly type: 'object-delta'; readonly turn: number; readonly unvalidated: DeepPartial<TData> }
  | { readonly type: 'tool-call'; readonly turn: number; readonly toolCall: ToolCall }
  /** Somebody has to decide on a call. `approvalId` is that of the `ApprovalRequest`. */
  | {
      readonly type: 'approval-requested';
      readonly turn: number;
      readonly toolCallId: string;
      readonly approvalId: string;
    }
  /** In order of completion: of parallel calls, the first to end comes first. `denied`: nobody approved the call. */
  | { readonly type: 'tool-result'; readonly turn: number; readonly toolResult: ToolResult; readonly denied?: true }
  /** Page or document that the vendor found, or that the answer cites. */
  | { readonly type: 'source'; readonly turn: number; readonly source: Source }
  /** Call of a tool that the vendor runs: when it begins, and again with its `result`. */
  | { readonly type: 'vendor-call'; readonly turn: number; readonly call: VendorCall }
  /** The next turns are those of another agent: agent `from` has handed the conversation over to agent `to`. */
  | { readonly type: 'handoff'; readonly turn: number; readonly from: string; readonly to: string }
  | {
      readonly type: 'turn-end';
      readonly turn: number;
      readonly usage: TokenUsage;
      readonly finishReason: FinishReason;
    }
  /** The last event. */
  | { readonly type: 'run-end'; readonly result: SettledAgentRun<TData> };

/**
 * Receives the events of a run. The promise of a text resolves when the reader has room for more; a model call that
 * waits for it longer than its `timeoutMs` fails.
 */
export type OnAgentEvent = (event: AgentStreamEvent) => Promise<void> | undefined;

/** Maximum number of characters of texts that wait for a reader, before the model's stream waits as well. */
const maxUnreadChars = 65_536;

/**
 * Events of a run. The run starts at once and does not wait for a reader; unread events are buffered. One loop may
 * read the stream, and leaving the loop early aborts the run. A second loop throws {@link StreamLockedError}. Once a
 * loop has started, the model's stream waits while more than 65,536 characters are unread.
 */
export interface AgentStream<TData = unknown> extends AsyncIterable<AgentStreamEvent<TData>> {
  /** Result that `run` would have resolved with. */
  readonly result: Promise<SettledAgentRun<TData>>;
}

/** Starts a run and returns its events as an async iterable. @param signal signal of the run's caller */
export function createAgentStream<TData>(
  agentName: string,
  signal: AbortSignal | undefined,
  start: (onEvent: OnAgentEvent, abort: AbortController) => Promise<SettledAgentRun<TData>>,
): AgentStream<TData> {
  return new RunningStream(agentName, signal, start);
}

/** Returns `true` if the run of a stream rejected because its caller aborted it, for whatever reason. */
export function isAbortedBy(stream: AgentStream, error: unknown): boolean {
  return stream instanceof RunningStream && stream.isAborted(error);
}

// A class: V8 creates the map of a generator function that is created per run in its old generation, and with the map
// everything that the function refers to.
class RunningStream<TData> implements AgentStream<TData> {
  readonly result: Promise<SettledAgentRun<TData>>;
  readonly #agentName: string;
  readonly #abort = new AbortController();
  #unread: AgentStreamEvent<TData>[] = [];
  #unreadChars = 0;
  #wake: () => void = noop;
  /** Present while the model's stream waits for the reader. */
  #room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  #isOver = false;
  readonly #signal: AbortSignal | undefined;
  #isRead = false;

  constructor(
    agentName: string,
    signal: AbortSignal | undefined,
    start: (onEvent: OnAgentEvent, abort: AbortController) => Promise<SettledAgentRun<TData>>,
  ) {
    this.#agentName = agentName;
    this.#signal = signal;
    this.result = start((event) => {
      // The result of `run-end` is that of `start`.
      this.#unread.push(event as AgentStreamEvent<TData>);
      this.#wake();
      if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') return undefined;
      this.#unreadChars += event.text.length;
      return this.#isRead && this.#unreadChars > maxUnreadChars ? this.#awaitRoom() : undefined;
    }, this.#abort);
    const over = (): void => {
      this.#isOver = true;
      this.#wake();
      this.#makeRoom();
    };
    // Also marks a rejection as handled, because the loop rethrows it.
    this.result.then(over, over);
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentStreamEvent<TData>, void, void> {
    if (this.#isRead) throw new StreamLockedError(this.#agentName);
    this.#isRead = true;
    const reader = this.#read();
    return {
      next: () => reader.next(),
      // The generator's own return() would wait for the next event.
      return: () => {
        if (!this.#isOver) this.#abort.abort(new StreamClosedError(this.#agentName));
        this.#wake();
        this.#makeRoom();
        return reader.return();
      },
    };
  }

  isAborted(error: unknown): boolean {
    return this.#signal?.aborted === true && this.#signal.reason === error;
  }

  #awaitRoom(): Promise<void> {
    if (this.#room === undefined) {
      let resolve = noop;
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#room = { promise, resolve };
    }
    return this.#room.promise;
  }

  #makeRoom(): void {
    this.#unreadChars = 0;
    this.#room?.resolve();
    this.#room = undefined;
  }

  async *#read(): AsyncGenerator<AgentStreamEvent<TData>, void, void> {
    while (!this.#abort.signal.aborted) {
      if (this.#unread.length > 0) {
        // The whole batch at once: shift() copies a long array once per event.
        const batch = this.#unread;
        this.#unread = [];
        this.#makeRoom();
        yield* batch;
      } else if (this.#isOver) {
        await this.result;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

function noop(): void {}
