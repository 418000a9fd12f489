import { StreamClosedError } from '../errors.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import type { FinishReason } from '../model/model-provider.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { AgentRunResult } from './agent-run-result.js';

/** Event of a run. Turns start at 1. */
export type AgentStreamEvent<TData = unknown> =
  | { readonly type: 'text-delta'; readonly turn: number; readonly text: string }
  | { readonly type: 'tool-call'; readonly turn: number; readonly toolCall: ToolCall }
  /** In order of completion: of parallel calls, the first to end comes first. */
  | { readonly type: 'tool-result'; readonly turn: number; readonly toolResult: ToolResult }
  | {
      readonly type: 'turn-end';
      readonly turn: number;
      readonly usage: TokenUsage;
      readonly finishReason: FinishReason;
    }
  /** The last event. */
  | { readonly type: 'run-end'; readonly result: AgentRunResult<TData> };

/**
 * Events of a run. The run starts at once and does not wait for a reader; unread events are buffered. One loop may
 * read the stream, and leaving the loop early aborts the run.
 */
export interface AgentStream<TData = unknown> extends AsyncIterable<AgentStreamEvent<TData>> {
  /** Result that `run` would have resolved with. */
  readonly result: Promise<AgentRunResult<TData>>;
}

/** Starts a run and returns its events as an async iterable. */
export function createAgentStream<TData>(
  agentName: string,
  start: (onEvent: (event: AgentStreamEvent) => void, abort: AbortController) => Promise<AgentRunResult<TData>>,
): AgentStream<TData> {
  const abort = new AbortController();
  let unread: AgentStreamEvent<TData>[] = [];
  let wake: () => void = () => {};
  let isOver = false;
  const result = start((event) => {
    // The result of `run-end` is that of `start`.
    unread.push(event as AgentStreamEvent<TData>);
    wake();
  }, abort);
  const over = (): void => {
    isOver = true;
    wake();
  };
  // Also marks a rejection as handled, because the loop rethrows it.
  result.then(over, over);

  async function* read(): AsyncGenerator<AgentStreamEvent<TData>, void, void> {
    while (!abort.signal.aborted) {
      if (unread.length > 0) {
        // The whole batch at once: shift() copies a long array once per event.
        const batch = unread;
        unread = [];
        yield* batch;
      } else if (isOver) {
        await result;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  const reader = read();
  const iterator: AsyncIterator<AgentStreamEvent<TData>, void, void> = {
    next: () => reader.next(),
    // The generator's own return() would wait for the next event.
    return() {
      if (!isOver) abort.abort(new StreamClosedError(agentName));
      wake();
      return reader.return();
    },
  };
  return { result, [Symbol.asyncIterator]: () => iterator };
}
