import { expect, it, onTestFinished } from 'vitest';
import { createHub } from '../../../hub/create-hub.js';
import { createWorkflow } from '../../../hub/runs/workflow.js';
import { envelope } from '../../contract/envelope.js';
import { completed, failed } from '../../contract/outcome.js';
import { type Outcome, type RunRetention, type Subscription, workflowType } from '../../delivery.js';
import { redisKey } from '../connection/keys.js';
import { serviceTypeOf } from '../names.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, prefix, transport, consume, inTime, next, until } = await redisStage();
// Time for which the end of a run stays readable after the run was accepted.
const startedMs = 10_000;
const { signal } = new AbortController();

function retaining(retain: RunRetention): Subscription {
  return { type: 'run', retainsRuns: true, retain };
}

const ends: readonly (readonly [string, Outcome, object])[] = [
  ['completed', { ...completed(), result: '7' }, { status: 'completed', result: '7' }],
  ['failed', failed('no'), { status: 'failed', error: { message: 'no' } }],
];

it.each(
  ends.flatMap(([status, outcome, end]) => [
    [status, 'no run', { completed: 0, failed: 0 }, outcome, end] as const,
    [status, 'runs for a millisecond', { completed: 9, failed: 9, ageMs: 1 }, outcome, end] as const,
  ]),
)(
  'a run that %s before its starter can wait for it, of a type that retains %s, ends for the starter',
  async (_, _retained, retain, outcome, end) => {
    const shop = await consume([retaining(retain)]);
    const starter = await consume([], { concurrency: 1 });
    const ended = await inTime(startedMs, async () => {
      const sent = envelope('run');
      await starter.transport.publish([sent]);
      expect(await (await next(shop)).commit(outcome)).toBe('ok');
      await until(async () => (await shop.transport.runs.get('run', sent.id)) === undefined);
      const first = await starter.transport.runs.ended('run', sent.id, signal);
      // A caller whose connection was lost asks again.
      return [first, await starter.transport.runs.ended('run', sent.id, signal)];
    });
    expect(ended).toMatchObject([end, end]);
  },
);

it('the end of a run that is not retained leaves Redis seconds after the run was accepted', async () => {
  const shop = await consume([retaining({ completed: 0, failed: 0 })]);
  const { keys, leftMs, stored } = await inTime(startedMs, async () => {
    const sent = envelope('run', { body: JSON.stringify('secret') });
    await shop.transport.publish([sent]);
    const delivery = await next(shop);
    await delivery.checkpoint('ask', '{"output":1}');
    await delivery.commit({ ...completed(), result: '7' });
    const found = await admin.keys(`${redisKey(`{${prefix()}}`, 'run', '')}*${sent.id}*`);
    const hashes = found.filter((key) => !key.endsWith(':order'));
    return {
      keys: found,
      leftMs: await Promise.all(found.map((key) => admin.pttl(key))),
      stored: JSON.stringify(await Promise.all(hashes.map((key) => admin.hgetall(key)))),
    };
  });
  expect(keys).toHaveLength(3);
  expect(Math.min(...leftMs)).toBeGreaterThan(0);
  expect(Math.max(...leftMs)).toBeLessThanOrEqual(startedMs);
  expect(stored).not.toContain('secret');
});

it('a process that has lost the reply reads the end of a run again, also if the run was evicted meanwhile', async () => {
  const shop = await consume([retaining({ completed: 1, failed: 1 })]);
  const starter = await consume([], { concurrency: 1 });
  const [sent, later] = [envelope('run'), envelope('run')];
  await shop.transport.publish([sent, later]);
  const run = redisKey(`{${prefix()}}`, 'run', 'shop/run', `e-${sent.id}`);
  // Accepted long ago.
  await admin.hincrby(run, 'acceptedAt', -3_600_000);
  const ended = starter.transport.runs.ended('run', sent.id, signal);
  await until(async () => (await admin.exists(`${run}:waiters`)) === 1);
  const [first, second] = [await next(shop), await next(shop)];
  await first.commit({ ...completed(), result: '7' });
  expect(await ended).toMatchObject({ result: '7' });
  await second.commit(completed());
  await until(async () => (await shop.transport.runs.get('run', sent.id)) === undefined);
  expect(await starter.transport.runs.ended('run', sent.id, signal)).toMatchObject({ result: '7' });
});

it('a run that ends before its starter can watch it, of a type that retains no run, is watched to its end', async () => {
  const workflow = createWorkflow({
    name: 'quick',
    retain: { completed: 0 },
    run: async ({ step }) => void (await step.run('pick', () => 1)),
  });
  const [web, worker] = ['web', 'worker'].map(() => createHub({ service: 'shop', transport: transport() }));
  if (web === undefined || worker === undefined) throw new Error('no hubs');
  for (const hub of [web, worker]) {
    hub.workflow(workflow);
    await hub.start();
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
  }
  const runs = redisKey(`{${prefix()}}`, 'runs', serviceTypeOf('shop', workflowType('quick')));
  const seen = await inTime(startedMs, async () => {
    const { runId } = await web.startWorkflow(workflow, null);
    await until(async () => (await admin.zcard(runs)) === 0);
    const events: unknown[] = [];
    try {
      for await (const event of web.watch(runId)) {
        events.push(event.type === 'step' ? event.step.name : event.run.status);
      }
    } catch (error) {
      events.push(error);
    }
    return events;
  });
  expect(seen).toEqual(['pick', 'completed']);
});
