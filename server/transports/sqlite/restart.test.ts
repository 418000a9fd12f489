import { expect, it } from 'vitest';
import { createFakeClock } from '../../testing/fake-clock.js';
import { envelope } from '../contract/envelope.js';
import { completed, failed, retry, suspended } from '../contract/outcome.js';
import type { Subscription } from '../delivery.js';
import { silentLogger } from '../transport.js';
import type { SqliteTransportOptions } from './sqlite-options.js';
import { sqliteTransport } from './sqlite-transport.js';
import { newFile, type Process, startProcess } from './stage.fixture.js';

/** Starts processes on one file, one after the other, on one clock. */
function machine(...subscriptions: readonly Subscription[]) {
  const file = newFile();
  const clock = createFakeClock();
  let current: Process | undefined;
  return {
    clock,
    file,
    /** Ends the current process without a drain and starts the next one. */
    async restart(options: Pick<SqliteTransportOptions, 'maxPendingInMemory'> = {}): Promise<Process> {
      await current?.transport.close({ drainMs: 0 });
      current = await startProcess({ file, clock, ...options }, subscriptions);
      await clock.settle();
      return current;
    },
  };
}

function ids({ deliveries }: Process): readonly string[] {
  return deliveries.map(({ envelope: { id } }) => id);
}

it('delivers pending events again, by priority and then in the order of acceptance', async () => {
  const { restart, clock } = machine({ type: 'a', concurrency: 1 });
  const first = await restart();
  const sent = [envelope('a'), envelope('a'), envelope('a', { priority: 5 }), envelope('a')];
  await first.transport.publish(sent);
  const next = await restart();
  for (let i = 0; i < 4; i += 1) {
    await next.deliveries[i]?.commit(completed());
    await clock.settle();
  }
  expect(ids(next)).toEqual([2, 0, 1, 3].map((index) => sent[index]?.id));
});

it('keeps delays, attempts and the due time of a retry', async () => {
  const { restart, clock } = machine({ type: 'a' });
  const first = await restart();
  const delayed = envelope('a', { delayMs: 1_000 });
  await first.transport.publish([envelope('a'), delayed]);
  await clock.settle();
  await first.deliveries[0]?.commit(retry(400));
  const second = await restart();
  await clock.advance(399);
  expect(second.deliveries).toEqual([]);
  await clock.advance(1);
  expect(second.deliveries.map(({ attempt }) => attempt)).toEqual([2]);
  await second.deliveries[0]?.commit(failed('no'));
  await clock.advance(599);
  expect(second.deliveries).toHaveLength(1);
  await clock.advance(1);
  expect(second.deliveries[1]?.envelope.id).toBe(delayed.id);
});

it('resumes a run with its checkpoints, and resolves its waits by time, event and child run', async () => {
  const { restart, clock } = machine({ type: 'run', retainsRuns: true }, { type: 'child', retainsRuns: true });
  const first = await restart();
  const run = envelope('run');
  await first.transport.publish([run]);
  await clock.settle();
  const delivery = first.deliveries[0];
  await delivery?.checkpoint('step', '1');
  const child = envelope('child', { parent: { type: 'run', id: run.id, wait: 'child' } });
  await delivery?.wait([
    { key: 'time', delayMs: 500 },
    { key: 'event', event: { type: 'news', key: 'k' }, isApproval: true },
    { key: 'child', run: child },
  ]);
  await delivery?.commit(suspended(1));

  const second = await restart();
  expect(ids(second)).toEqual([child.id]);
  await second.deliveries[0]?.commit({ ...completed(), result: '7' });
  await clock.settle();
  expect(second.deliveries[1]?.envelope.id).toBe(run.id);
  expect([...(second.deliveries[1]?.checkpoints.keys() ?? [])]).toEqual(['step', 'child']);
  await second.deliveries[1]?.commit(suspended(2));

  const third = await restart();
  expect(third.deliveries).toEqual([]);
  await clock.advance(500);
  expect([...(third.deliveries[0]?.checkpoints.keys() ?? [])]).toEqual(['step', 'child', 'time']);
  await third.deliveries[0]?.commit(suspended(3));

  const fourth = await restart();
  expect((await fourth.transport.counts.get(['run']))[0]?.total.approvals).toBe(1);
  expect(await fourth.transport.runs.waiting(['run'], 9)).toMatchObject([[{ id: run.id, waits: [{ key: 'event' }] }]]);
  await fourth.transport.publish([envelope('news', { key: 'k', body: '"hot"' })]);
  await clock.settle();
  expect(JSON.parse(fourth.deliveries[0]?.checkpoints.get('event') ?? '')).toMatchObject({
    by: 'event',
    payload: 'hot',
  });
  await fourth.deliveries[0]?.commit({ ...completed(), result: '"done"' });

  const fifth = await restart();
  expect(await fifth.transport.runs.get('run', run.id)).toMatchObject({ status: 'completed', result: '"done"' });
  expect(fifth.deliveries).toEqual([]);
});

it('keeps what is recorded for spilled events that were accepted before their type kept runs', async () => {
  const options = { file: newFile(), clock: createFakeClock(), maxPendingInMemory: 1 };
  const plain = await startProcess(options, [{ type: 'a', concurrency: 1 }]);
  const sent = Array.from({ length: 5 }, (_, n) => envelope('a', { body: `${n}` }));
  await plain.transport.publish(sent);
  await plain.transport.close({ drainMs: 0 });
  const runs: Subscription = { type: 'a', retainsRuns: true };
  const before = await startProcess(options, [runs]);
  await options.clock.settle();
  for (const delivery of before.deliveries)
    expect(await delivery.checkpoint('step', delivery.envelope.body)).toBe('ok');
  expect(before.deliveries).toHaveLength(5);
  await before.transport.close({ drainMs: 0 });
  const after = await startProcess(options, [runs]);
  await options.clock.settle();
  expect(ids(after)).toEqual(sent.map(({ id }) => id));
  for (const { envelope: each, checkpoints } of after.deliveries) {
    expect(checkpoints).toEqual(new Map([['step', each.body]]));
    expect(await after.transport.runs.get('a', each.id)).toMatchObject({ status: 'active', checkpoints });
  }
});

it('keeps the slot of a key, a debounce window and a deduplication id', async () => {
  const { restart, clock } = machine(
    { type: 'keyed', perKey: { concurrency: 1 } },
    { type: 'calm', debounce: { ms: 1_000 } },
    { type: 'once' },
  );
  const first = await restart();
  const holder = envelope('keyed', { key: 'k' });
  const calm = envelope('calm', { key: 'k', body: '1' });
  const dedupe = { id: 'd', windowMs: 60_000 };
  await first.transport.publish([holder, calm, envelope('once', { dedupe })]);
  await clock.settle();
  for (const delivery of first.deliveries) {
    await delivery.commit(delivery.envelope.type === 'keyed' ? retry(1_500) : completed());
  }
  await clock.advance(900);

  const second = await restart();
  const [again, later, merged] = await second.transport.publish([
    envelope('once', { dedupe }),
    envelope('keyed', { key: 'k', priority: 9 }),
    envelope('calm', { key: 'k', body: '2' }),
  ]);
  expect([again?.deduplicated, later?.deduplicated, merged?.id]).toEqual([true, false, calm.id]);
  await clock.advance(599);
  expect(second.deliveries).toEqual([]);
  await clock.advance(1);
  expect(ids(second)).toEqual([holder.id]);
  await clock.advance(400);
  expect(second.deliveries[1]?.envelope).toMatchObject({ id: calm.id, body: '2' });
  await second.deliveries[0]?.commit(completed());
  await clock.settle();
  expect(ids(second)).toHaveLength(3);
});

it('keeps events for a service that has not started since', async () => {
  const { restart, clock, file } = machine({ type: 'run', retainsRuns: true, triggers: ['a'] });
  const first = await restart();
  await first.transport.close({ drainMs: 0 });
  const publisher = sqliteTransport({ file, clock }).connect({ service: 'web', logger: silentLogger });
  const sent = envelope('a');
  expect(await publisher.publish([sent])).toEqual([{ id: sent.id, deduplicated: false }]);
  await publisher.close({ drainMs: 0 });
  const next = await restart();
  const [run] = next.deliveries;
  expect(run?.envelope).toMatchObject({ type: 'run', causeId: sent.id });
  expect(await next.transport.runs.get('run', run?.envelope.id ?? '')).toMatchObject({ status: 'active' });
});

it('keeps the verdict that an event is admitted, also of a dead letter', async () => {
  const { restart, clock } = machine({ type: 'a' });
  const first = await restart();
  const sent = envelope('a');
  await first.transport.publish([sent, envelope('a')]);
  await clock.settle();
  await first.deliveries[0]?.admit();
  const second = await restart();
  expect(second.deliveries.map(({ isAdmitted }) => isAdmitted)).toEqual([true, false]);
  await second.deliveries[0]?.commit(failed('no'));
  const third = await restart();
  expect(await third.transport.deadLetters.replay(sent.id)).toBe(true);
  await clock.settle();
  expect(third.deliveries.find(({ envelope: { id } }) => id === sent.id)).toMatchObject({
    isAdmitted: true,
    attempt: 1,
  });
});

it('replays a dead letter that an earlier process left, with its checkpoints', async () => {
  const { restart, clock } = machine({ type: 'run', retainsRuns: true });
  const first = await restart();
  const run = envelope('run');
  await first.transport.publish([run]);
  await clock.settle();
  await first.deliveries[0]?.checkpoint('step', '1');
  await first.deliveries[0]?.commit(failed('no'));
  const second = await restart();
  expect(await second.transport.deadLetters.replay(run.id)).toBe(true);
  const third = await restart();
  expect(third.deliveries[0]?.envelope).toMatchObject({ id: run.id, replays: 1 });
  expect(third.deliveries[0]?.checkpoints).toEqual(new Map([['step', '1']]));
  await third.deliveries[0]?.commit(completed());
  const fourth = await restart();
  expect(fourth.deliveries).toEqual([]);
  expect(await fourth.transport.deadLetters.replay(run.id)).toBe(false);
});

it.each([
  ['in memory', {}],
  ['in the file alone', { maxPendingInMemory: 1 }],
])('skips events while an event of their key is pending %s', async (_, options) => {
  const { restart, clock } = machine({ type: 'a', concurrency: 1 });
  const first = await restart(options);
  const skipping = (key: string) => envelope('a', { key, overlap: 'skip', dedupe: undefined });
  const sent = ['k', 'l', 'm'].map(skipping);
  await first.transport.publish(sent);
  const second = await restart(options);
  for (const { id, key = '' } of sent) {
    expect(await second.transport.publish([skipping(key)])).toEqual([{ id, deduplicated: true }]);
  }
  for (let n = 0; n < sent.length; n += 1) {
    await clock.settle();
    await second.deliveries[n]?.commit(completed());
  }
  const third = await restart(options);
  for (const key of ['k', 'l', 'm']) {
    expect(await third.transport.publish([skipping(key)])).toMatchObject([{ deduplicated: false }]);
  }
});
