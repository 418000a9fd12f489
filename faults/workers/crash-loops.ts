import { expect } from 'vitest';
import type { LedgerEntry } from './ledger.js';

/** Expects that each of these events of the `poison` scenario was alone in the last process that it ended. */
export function expectLastDeathsAlone(
  entries: readonly LedgerEntry[],
  events: readonly { readonly id: string }[],
): void {
  for (const { id } of events) {
    const isStart = ({ what, key }: LedgerEntry): boolean => what === 'start deadly' && key === id;
    const pid = entries.findLast(isStart)?.pid;
    const ofProcess = entries.filter((entry) => entry.pid === pid);
    const before = ofProcess.slice(0, ofProcess.findIndex(isStart));
    const running = before.filter(({ what, key }) => {
      return what.startsWith('start') && !before.some((other) => other.what === 'end' && other.key === key);
    });
    expect(running).toEqual([]);
    expect(ofProcess.slice(before.length)).toHaveLength(1);
  }
}
