import type { ToolCall } from '../model/message.js';

/** Longest cycle of turns that is detected. */
const maxPeriod = 4;

/**
 * Counts how often a model requests the same call in consecutive turns, or in a short cycle of turns such as A, B, A, B.
 * Calls are equal if their arguments are the same JSON value. Two equal calls in one turn count once: the model has not
 * seen the first result yet.
 */
export class RepeatedCallDetector {
  /** The call of the last turn, if it had only one. Most turns have, and clearing a Map takes longer. */
  #only: { readonly key: string; readonly count: number } | undefined;
  #counts: Map<string, number> | undefined;
  /** Last turns, newest first. */
  readonly #turns: string[] = [];
  /** Number of consecutive turns that equal the turn one period before, by period. */
  readonly #matches: number[] = [];

  /** Records the calls of one turn, and returns for each call how often it was requested. */
  count(calls: readonly ToolCall[]): number[] {
    const keys = calls.map(keyOf);
    const [key] = keys;
    if (key !== undefined && keys.length === 1) {
      const count = this.#countOf(key) + 1;
      this.#only = { key, count };
      this.#counts = undefined;
      return [Math.max(count, this.#countCycle(key))];
    }
    const inCycle = this.#countCycle([...new Set(keys)].sort().join('\n'));
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, this.#countOf(key) + 1);
    this.#counts = counts;
    this.#only = undefined;
    return keys.map((key) => Math.max(counts.get(key) ?? 1, inCycle));
  }

  #countOf(key: string): number {
    return this.#only?.key === key ? this.#only.count : (this.#counts?.get(key) ?? 0);
  }

  #countCycle(turn: string): number {
    let count = 1;
    for (let period = 2; period <= maxPeriod; period++) {
      const matches = this.#turns[period - 1] === turn ? (this.#matches[period] ?? 0) + 1 : 0;
      this.#matches[period] = matches;
      if (matches > 0) count = Math.max(count, Math.floor((matches + period - 1) / period) + 1);
    }
    if (this.#turns.unshift(turn) > maxPeriod) this.#turns.pop();
    return count;
  }
}

function keyOf({ name, arguments: text }: ToolCall): string {
  return `${name} ${canonicalJson(text)}`;
}

/** Returns the same text for the same JSON value, whatever its spacing and order of keys. */
function canonicalJson(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    const value: unknown = JSON.parse(text);
    // A replacer is slow, and most arguments are flat.
    return isFlatAndSorted(value) ? JSON.stringify(value) : JSON.stringify(value, sortKeys);
  } catch {
    return text.trim();
  }
}

function isFlatAndSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  let previous = '';
  for (const key of Object.keys(value)) {
    const field: unknown = Reflect.get(value, key);
    if (key < previous || (typeof field === 'object' && field !== null)) return false;
    previous = key;
  }
  return true;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  if (entries.length < 2) return value;
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
