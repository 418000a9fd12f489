import { setTimeout as wait } from 'node:timers/promises';

/** Simulated requests that arrive until stopped. */
export interface Traffic {
  stop(): void;
}

/** Waits as long as a call to another system takes, most often near `fromMs`. Rejects when `signal` aborts. */
export async function simulateWork(signal: AbortSignal | undefined, fromMs: number, toMs: number): Promise<void> {
  const share = Math.random() ** 3;
  await wait(fromMs + share * (toMs - fromMs), undefined, signal && { signal });
}

/** Returns `true` with probability `1 / calls`. */
export function oneIn(calls: number): boolean {
  return Math.random() * calls < 1;
}

/** Returns one of the texts at random. */
export function pick(texts: readonly string[]): string {
  return texts[Math.floor(Math.random() * texts.length)] ?? '';
}
