import type { ToolCall } from '../model/message.js';

/**
 * Counts in how many consecutive turns a model requests the same call. Two equal calls in one turn count once: the
 * model has not seen the first result yet.
 */
export class RepeatedCallDetector {
  #counts = new Map<string, number>();

  /** Records the calls of one turn, and returns for each call the number of consecutive turns that requested it. */
  count(calls: readonly ToolCall[]): number[] {
    const counts = new Map<string, number>();
    const result = calls.map((call) => {
      const key = `${call.name}\n${call.arguments}`;
      const turns = (this.#counts.get(key) ?? 0) + 1;
      counts.set(key, turns);
      return turns;
    });
    this.#counts = counts;
    return result;
  }
}
