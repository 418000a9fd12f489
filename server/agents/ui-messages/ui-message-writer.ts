import type { AgentRunResult } from '../agent/agent-run-result.js';
import type { AgentStreamEvent } from '../agent/agent-stream.js';
import type { ToolCall, ToolResult } from '../model/message.js';
import type { UIMessageChunk } from './ui-message-chunk.js';

/** Converts the events of one run into chunks. */
export class UIMessageWriter {
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
  fail(error: unknown): UIMessageChunk[] {
    const isAbort = error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError');
    const last: UIMessageChunk = isAbort ? { type: 'abort' } : { type: 'error', errorText: this.#errorText(error) };
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
