import type { ToolCall } from './message.js';

/** Counts how many times in a row a model asks for the same call: turn after turn, and within one turn. */
export class RepeatCounter {
  #counts = new Map<string, number>();

  /** Takes the calls of one turn and returns, for each, how many times in a row it has been asked for now. */
  count(calls: readonly ToolCall[]): number[] {
    const counts = new Map<string, number>();
    const result = calls.map((call) => {
      const key = `${call.name}\n${call.arguments}`;
      const times = (counts.get(key) ?? this.#counts.get(key) ?? 0) + 1;
      counts.set(key, times);
      return times;
    });
    this.#counts = counts;
    return result;
  }
}
