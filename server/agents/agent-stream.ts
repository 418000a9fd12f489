import { StreamClosedError } from './errors.js';
import type { ToolCall } from './message.js';
import type { FinishReason } from './model-provider.js';
import type { AgentRunResult } from './run.js';
import type { TokenUsage } from './token-usage.js';
import type { ToolResult } from './tool.js';

/** Something that happened in a run. Turns count from 1. */
export type AgentStreamEvent =
  | { readonly type: 'text-delta'; readonly turn: number; readonly text: string }
  | { readonly type: 'tool-call'; readonly turn: number; readonly toolCall: ToolCall }
  /** As they come: of calls in parallel, the first to end is the first here. */
  | { readonly type: 'tool-result'; readonly turn: number; readonly toolResult: ToolResult }
  | {
      readonly type: 'turn-end';
      readonly turn: number;
      readonly usage: TokenUsage;
      readonly finishReason: FinishReason;
    }
  /** The last one. */
  | { readonly type: 'run-end'; readonly result: AgentRunResult };

/**
 * A run as it happens. It is under way at once, and goes on while nobody reads: what waits to be read
 * is never more than the run has produced. One loop may read it; leaving the loop early aborts the run.
 */
export interface AgentStream extends AsyncIterable<AgentStreamEvent> {
  /** What `run` would have returned. */
  readonly result: Promise<AgentRunResult>;
}

/** Starts a run and makes its events an async iterable. */
export function createAgentStream(
  agentName: string,
  start: (onEvent: (event: AgentStreamEvent) => void, abort: AbortController) => Promise<AgentRunResult>,
): AgentStream {
  const abort = new AbortController();
  let unread: AgentStreamEvent[] = [];
  let wake: () => void = () => {};
  let isOver = false;
  const result = start((event) => {
    unread.push(event);
    wake();
  }, abort);
  const over = (): void => {
    isOver = true;
    wake();
  };
  // Also keeps a rejection that the reader sees in the loop from counting as unhandled.
  result.then(over, over);

  async function* read(): AsyncGenerator<AgentStreamEvent, void, void> {
    while (!abort.signal.aborted) {
      if (unread.length > 0) {
        // As a whole: to shift a long array copies all of it, once for each event.
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
  const iterator: AsyncIterator<AgentStreamEvent, void, void> = {
    next: () => reader.next(),
    // The generator's own would wait until the next event comes, and a model may take long for it.
    return() {
      if (!isOver) abort.abort(new StreamClosedError(agentName));
      wake();
      return reader.return();
    },
  };
  return { result, [Symbol.asyncIterator]: () => iterator };
}
