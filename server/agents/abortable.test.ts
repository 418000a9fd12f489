import { expect, test, vi } from 'vitest';
import { AbortableWaits } from './abortable.js';

const never = new Promise<never>(() => {});

test('waits of a run share one listener, and settle as their work does', async () => {
  const { signal } = new AbortController();
  const add = vi.spyOn(signal, 'addEventListener');
  const remove = vi.spyOn(signal, 'removeEventListener');
  const waits = new AbortableWaits(signal);
  for (let turn = 0; turn < 3; turn += 1) {
    const failed = waits.wait(Promise.reject(new Error('no answer')));
    expect(await Promise.all([waits.wait(Promise.resolve(turn)), waits.wait(Promise.resolve('b'))])).toEqual([
      turn,
      'b',
    ]);
    await expect(failed).rejects.toThrow('no answer');
  }
  expect(add).toHaveBeenCalledTimes(1);
  expect(remove).not.toHaveBeenCalled();
  waits.close();
  expect(remove).toHaveBeenCalledTimes(1);
});

test('an abort ends all waits, and later ones at once, with the reason of the signal', async () => {
  const controller = new AbortController();
  const waits = new AbortableWaits(controller.signal);
  const reason = new Error('stopped');
  const first = waits.wait(never);
  const second = waits.wait(never);
  const settled = waits.wait(Promise.resolve('done'));
  expect(await settled).toBe('done');
  controller.abort(reason);
  for (const wait of [first, second, waits.wait(never)]) await expect(wait).rejects.toBe(reason);
});
