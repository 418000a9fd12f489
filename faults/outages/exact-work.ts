import { setTimeout as delay } from 'node:timers/promises';
import { type Hub, TransportUnavailableError } from 'hubline';
import { expect } from 'vitest';
import { failsForGood } from '../workers/scenarios.js';
import { isLong, type Scene, until } from '../workers/scene.js';

/** Number of events of a test of outages. */
export const events: number = isLong ? 5_000 : 200;
const perPortion = isLong ? 20 : 5;

/**
 * Emits events of the scenario `work` in portions.
 *
 * @param emit emits one of them
 * @returns the numbers of those that may or may not have been accepted
 */
export async function emitAll(
  hub: Hub,
  emit: (n: number) => Promise<unknown> = (n) => hub.emit('work', { n }),
): Promise<Set<number>> {
  const unknown = new Set<number>();
  for (let first = 1; first <= events; first += perPortion) {
    const portion = Array.from({ length: perPortion }, (_, index) => first + index);
    await Promise.all(
      portion.map((number) =>
        emit(number).catch((error: unknown) => {
          expect(error).toBeInstanceOf(TransportUnavailableError);
          unknown.add(number);
        }),
      ),
    );
    await delay(20);
  }
  return unknown;
}

/** Waits until all accepted events have ended, and checks each outcome and the counts by the ledger. */
export async function expectExact({ hub, ledger }: Scene, unknown: ReadonlySet<number>): Promise<void> {
  await until('everything is settled', async () => {
    const [work, settled] = [await hub.metrics('work'), await hub.metrics('settled')];
    return work.received >= events - unknown.size && work.pending === 0 && settled.completed === work.received;
  });
  const endings = new Map<string, string[]>();
  for (const { what, key } of ledger()) {
    if (what.startsWith('settled')) endings.set(key, [...(endings.get(key) ?? []), what]);
  }
  const work = await hub.metrics('work');
  expect(work.received).toBe(endings.size);
  const failed = [...endings.keys()].filter((key) => failsForGood(Number(key))).length;
  expect(work).toMatchObject({ failed, completed: endings.size - failed, active: 0 });
  for (let n = 1; n <= events; n += 1) {
    if (unknown.has(n)) continue;
    expect(new Set(endings.get(String(n))), `event ${n}`).toEqual(
      new Set([failsForGood(n) ? 'settled ERR_FATAL' : 'settled completed']),
    );
  }
}
