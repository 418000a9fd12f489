import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { Subscription } from '../../delivery.js';
import { dataLayout } from '../connection/keys.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, prefix, consume, counts, next, until } = await redisStage();
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function processes(): Promise<string[]> {
  return admin.zrange(`{${prefix()}}:registrations`, '0', '-1');
}

/** Does what happens without heartbeats. */
async function expire(ids: readonly string[]): Promise<void> {
  await admin.del(...ids.map((id) => `{${prefix()}}:process:${id}`));
}

it('leaves no registration behind if a process stops during a heartbeat', async () => {
  const { transport } = await consume([]);
  await expire(await processes());
  vi.advanceTimersByTime(5_000);
  await transport.close({ drainMs: 0 });
  expect(await processes()).toEqual([]);
});

it('keeps the limits of the process that started last when an earlier one registers again', async () => {
  const before = await consume(['a']);
  const ids = await processes();
  const after = await consume([{ type: 'a', concurrency: 1 }]);
  await expire(ids);
  expect(await after.transport.fleet.registered()).toHaveLength(1);
  vi.advanceTimersByTime(5_000);
  await until(async () => (await processes()).length === 2);
  await after.transport.publish([envelope('a'), envelope('a')]);
  for (let n = 0; n < 2; n += 1) {
    await until(() => before.waiting.length + after.waiting.length > 0);
    expect(before.waiting.length + after.waiting.length).toBe(1);
    await (before.waiting.length > 0 ? before : after).shift().commit(completed());
  }
});

it('puts the limits of a process into effect that starts after Redis has lost its data', async () => {
  await admin.set(`{${prefix()}}:sequence`, 1_000);
  const before = await consume(['a']);
  await admin.del(...(await admin.keys(`{${prefix()}}:*`)));
  vi.advanceTimersByTime(5_000);
  await until(async () => (await processes()).length === 1);
  const after = await consume([{ type: 'a', concurrency: 1 }]);
  expect(await admin.hget(`{${prefix()}}:dispatch:shop/a`, 'concurrency')).toBe('1');
  await Promise.all([before, after].map(({ transport }) => transport.close({ drainMs: 0 })));
});

it('starts a workflow by the trigger of the process that started last only', async () => {
  const triggeredBy = (type: string): Subscription => ({
    type: 'flow',
    retainsRuns: true,
    triggers: [type],
  });
  const { transport } = await consume([triggeredBy('a')]);
  await consume([triggeredBy('b')]);
  await transport.publish([envelope('a')]);
  expect(await counts(transport, 'flow')).toMatchObject({ received: 0 });
  await transport.publish([envelope('b')]);
  expect(await counts(transport, 'flow')).toMatchObject({ received: 1 });
  await consume(['flow']);
  await transport.publish([envelope('b')]);
  expect(await counts(transport, 'flow')).toMatchObject({ received: 1 });
});

it('hears of the end of a run that it awaits although its registration had expired', async () => {
  const { signal } = new AbortController();
  const flow: Subscription = { type: 'flow', retainsRuns: true };
  const one = await consume([flow]);
  const [first = ''] = await processes();
  const run = envelope('flow');
  await one.transport.publish([run]);
  const delivery = await next(one);
  const waiters = () => admin.smembers(`{${prefix()}}:run:shop/flow:e-${run.id}:waiters`);
  const ended = one.transport.runs.ended('flow', run.id, signal);
  await until(async () => (await waiters()).length === 1);
  await expire([first]);
  const two = await consume([flow]);
  const endedToo = two.transport.runs.ended('flow', run.id, signal);
  // A dead process would wait for ever.
  await until(async () => (await waiters()).join() !== first && (await waiters()).length === 1);
  vi.advanceTimersByTime(5_000);
  await until(async () => (await waiters()).length === 2);
  await delivery.commit(completed());
  expect(await ended).toMatchObject({ status: 'completed' });
  expect(await endedToo).toMatchObject({ status: 'completed' });
});

it('reports the number of running handlers with each heartbeat', async () => {
  const shop = await consume(['a']);
  await shop.transport.publish([envelope('a')]);
  const delivery = await next(shop);
  const active = async (): Promise<unknown> =>
    (await shop.transport.fleet.processes()).map(({ state }) => (JSON.parse(state) as { active: number }).active);
  expect(await active()).toEqual([0]);
  vi.advanceTimersByTime(5_000);
  await until(async () => JSON.stringify(await active()) === '[1]');
  await delivery.commit(completed());
  vi.advanceTimersByTime(5_000);
  await until(async () => JSON.stringify(await active()) === '[0]');
});

it('refuses data in the layout of another build, and changes nothing', async () => {
  const { transport } = await consume(['a']);
  await transport.close({ drainMs: 0 });
  const layout = `{${prefix()}}:layout`;
  expect(await admin.get(layout)).toBe(String(dataLayout));
  await admin.del(`{${prefix()}}:kv:hubline%3Akeys`);
  for (const change of [() => admin.del(layout), () => admin.set(layout, '1')]) {
    await change();
    const keys = await admin.keys(`{${prefix()}}:*`);
    await expect(consume(['a'])).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_DATA' });
    await expect(consume([])).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_DATA' });
    expect((await admin.keys(`{${prefix()}}:*`)).sort()).toEqual(keys.sort());
  }
  await admin.set(layout, dataLayout);
  await consume(['a']);
});
