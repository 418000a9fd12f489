import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Deadline } from './deadline.js';

function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('rejects what has not settled in time', async () => {
  const deadline = new Deadline(10);
  await expect(deadline.race(new Promise(() => {}))).rejects.toThrow('no reply in time');
  expect(deadline.isOver).toBe(true);
  await expect(deadline.race(new Promise(() => {}))).rejects.toThrow('no reply in time');
});

it('ends the subscription of what it rejects', async () => {
  const deadline = new Deadline(10);
  let isSubscribed = true;
  const waiting = deadline.wait(() => () => {
    isSubscribed = false;
  });
  await expect(waiting).rejects.toThrow();
  expect(isSubscribed).toBe(false);
});

it('does not count time during which the event loop was blocked', async () => {
  const deadline = new Deadline(40);
  const reply = delay(60, 'reply');
  block(200);
  expect(await deadline.race(reply)).toBe('reply');
  deadline.cancel();
});
