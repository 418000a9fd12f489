import type { ToolCall } from './message.js';

/**
 * Counts in how many turns in a row a model asks for the same call. Twice in one turn is no loop: a model
 * that has not seen the first result may mean it so.
 */
export class RepeatCounter {
  #counts = new Map<string, number>();

  /** Takes the calls of one turn and returns, for each, in how many turns in a row it has been asked for now. */
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
