import { expect, it } from 'vitest';
import { createFakeClock } from '../testing/fake-clock.js';
import { LoneEvents, loneLimitMs } from './lone-events.js';

/** Process with two parts of which the second one runs an event that has to be alone. */
function stage() {
  const clock = createFakeClock();
  const events = new LoneEvents();
  const log: string[] = [];
  const part = (name: string) => ({ active: 0, resume: () => log.push(`${name} resumes`) });
  const [other, own] = [part('other'), part('own')];
  const leave = events.join(other);
  events.join(own);
  const reserve = (name: string, recordShared = (recorded: () => void): void => recorded()) =>
    events.reserve({
      id: name,
      clock,
      limitMs: 100,
      begin: (isAlone) => log.push(`${name} begins ${isAlone ? 'alone' : 'beside others'}`),
      recordShared(recorded) {
        log.push(`${name} is shared`);
        recordShared(recorded);
      },
    });
  return { clock, events, log, other, own, leave, reserve };
}

it('begins at once if nothing else runs, and lets others start when it has ended', () => {
  const { events, log, own, reserve } = stage();
  own.active = 1;
  const end = reserve('event');
  expect(log).toEqual(['event begins alone']);
  expect(events.isReserved).toBe(true);
  end?.();
  end?.();
  expect(log).toEqual(['event begins alone', 'other resumes', 'own resumes']);
  expect(events.isReserved).toBe(false);
});

it('waits until the others have ended', () => {
  const { events, log, own, other, reserve } = stage();
  own.active = 1;
  other.active = 1;
  reserve('event');
  events.check();
  expect(log).toEqual([]);
  other.active = 0;
  events.check();
  events.check();
  expect(log).toEqual(['event begins alone']);
});

it('waits no longer for a part that has left', () => {
  const { log, own, other, leave, reserve } = stage();
  own.active = 1;
  other.active = 1;
  reserve('event');
  leave();
  expect(log).toEqual(['event begins alone']);
});

it('begins beside others after the limit', async () => {
  const { clock, events, log, other, reserve } = stage();
  other.active = 2;
  const end = reserve('event');
  await clock.advance(99);
  expect(log).toEqual([]);
  await clock.advance(1);
  expect(log).toEqual(['other resumes', 'own resumes', 'event begins beside others']);
  expect(events.isReserved).toBe(false);
  end?.();
  expect(log).toHaveLength(3);
});

it('keeps others waiting after the limit until it is recorded that they start', async () => {
  const { clock, events, log, reserve } = stage();
  let record = (): void => {};
  reserve('event', (recorded) => {
    record = recorded;
  });
  await clock.advance(100);
  expect(log).toEqual(['event begins alone', 'event is shared']);
  expect(events.isReserved).toBe(true);
  record();
  expect(events.isReserved).toBe(false);
  expect(log.slice(2)).toEqual(['other resumes', 'own resumes']);
});

it('lets others run for as long as they waited', async () => {
  const { clock, reserve } = stage();
  const end = reserve('first');
  expect(reserve('second')).toBeUndefined();
  await clock.advance(40);
  end?.();
  await clock.advance(39);
  expect(reserve('second')).toBeUndefined();
  await clock.advance(1);
  expect(reserve('second')).toBeDefined();
});

it.each([
  [0, 30_000],
  [1, 60_000],
  [3, 240_000],
  [100, 30_000 * 1_024],
])('with %s crashes that proved nothing, the limit is %s ms', (unproven, limitMs) => {
  expect(loneLimitMs(unproven)).toBe(limitMs);
});
