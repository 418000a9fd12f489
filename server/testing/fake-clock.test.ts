import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFakeClock } from './fake-clock.js';

it('calls timers in order of their due time, timers set by other timers included', async () => {
  const clock = createFakeClock(1_000);
  const calls: [string, number][] = [];
  const at = (name: string) => (): void => {
    calls.push([name, clock.now()]);
  };
  clock.after(30, at('later'));
  clock.after(10, () => {
    at('first')();
    clock.after(5, at('set by first'));
  });
  clock.after(10, at('second'));
  clock.after(20, at('cancelled')).cancel();
  clock.after(31, at('not yet'));
  await clock.advance(30);
  expect(calls).toEqual([
    ['first', 1_010],
    ['second', 1_010],
    ['set by first', 1_015],
    ['later', 1_030],
  ]);
  expect(clock.now()).toBe(1_030);
  expect(clock.monotonic()).toBe(30);
  expect(clock.pendingTimers).toBe(1);
});

it('settles promises between timers', async () => {
  const clock = createFakeClock();
  const order: string[] = [];
  clock.after(1, () => void Promise.resolve().then(() => order.push('settled')));
  clock.after(2, () => order.push('next'));
  await clock.advance(2);
  expect(order).toEqual(['settled', 'next']);
});

it('calls soon() callbacks without advancing', async () => {
  const clock = createFakeClock();
  let calls = 0;
  clock.soon(() => {
    calls += 1;
  });
  clock
    .soon(() => {
      calls += 100;
    })
    .cancel();
  await clock.settle();
  expect(calls).toBe(1);
});

it('reaches a fractional due time exactly, so that a timer for the rest is not set again and again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.double({ min: 0, max: 100_000, noNaN: true }), async (dueAt) => {
      const clock = createFakeClock();
      let looks = 0;
      const look = (): void => {
        looks += 1;
        if (looks < 10 && clock.monotonic() < dueAt) clock.after(dueAt - clock.monotonic(), look);
      };
      look();
      await clock.advance(100_000);
      expect(looks).toBeLessThan(10);
    }),
  );
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('does not advance by %d', async (ms) => {
  const clock = createFakeClock();
  await expect(clock.advance(ms)).rejects.toThrow('ms of advance must be milliseconds, 0 or more');
  expect(clock.monotonic()).toBe(0);
});

it('calls of advance that overlap never set the time back', async () => {
  const clock = createFakeClock(0);
  await Promise.all([clock.advance(10), clock.advance(5), clock.advance(1)]);
  expect([clock.now(), clock.monotonic()]).toEqual([10, 10]);
});

it.each([new Date(0), Number.NaN, Number.POSITIVE_INFINITY, '2026'])('refuses %o as its initial time', (startAt) => {
  // Wrong on purpose: the compiler rejects it.
  expect(() => createFakeClock(startAt as number)).toThrow('startAt of createFakeClock must be epoch milliseconds');
});
