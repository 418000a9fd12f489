import { afterEach, expect, it, vi } from 'vitest';
import { deferred } from '../../../hub/hub.fixture.js';
import { envelope } from '../../contract/envelope.js';
import { failed } from '../../contract/outcome.js';
import type { Subscription } from '../../delivery.js';
import { scripts } from '../connection/script.js';
import { redisStage } from '../redis-stage.fixture.js';
import { RunEnds } from '../runs/run-ends.js';
import { JobConsumer } from './job-consumer.js';

const { admin, prefix, consume, next, until } = await redisStage({ lockDurationMs: 1_000 });
afterEach(() => {
  vi.restoreAllMocks();
});

const cancelled = { ...failed('cancelled'), cancelled: true } as const;
const runs: Subscription = { type: 'run', retainsRuns: true };

it.each(['before', 'after'])(
  'a run that is cancelled %s its record is read for the process that has leased it is not delivered',
  async (place) => {
    const shop = await consume([runs]);
    const other = await consume([], { concurrency: 1 });
    const [reading, goOn] = [deferred(), deferred()];
    const read = scripts.loadRun.run.bind(scripts.loadRun);
    const hold = async (): Promise<void> => {
      reading.resolve();
      await goOn.promise;
    };
    vi.spyOn(scripts.loadRun, 'run').mockImplementationOnce(async (...args) => {
      if (place === 'before') await hold();
      const reply = await read(...args);
      if (place === 'after') await hold();
      return reply;
    });
    const sent = envelope('run');
    await shop.transport.publish([sent]);
    await reading.promise;
    // Resolves with the message that ends the lease: it has arrived by then.
    const ended = shop.transport.runs.ended('run', sent.id, new AbortController().signal);
    await until(async () => (await admin.exists(`{${prefix()}}:run:shop/run:e-${sent.id}:waiters`)) === 1);
    expect(await other.transport.runs.end('run', sent.id, cancelled, new Error('cancelled'))).toBe('ok');
    expect(await ended).toMatchObject({ status: 'failed' });
    goOn.resolve();
    const following = envelope('run');
    await shop.transport.publish([following]);
    expect((await next(shop)).envelope.id).toBe(following.id);
    expect(shop.waiting).toEqual([]);
  },
);

it('an event that is cancelled before the reply with its lease arrives is not delivered, and frees its slot', async () => {
  const shop = await consume([{ type: 'a', concurrency: 1 }]);
  const other = await consume([], { concurrency: 1 });
  const [leased, goOn] = [deferred(), deferred()];
  const advance = scripts.advanceJobs.run.bind(scripts.advanceJobs);
  const sent = envelope('a');
  vi.spyOn(scripts.advanceJobs, 'run').mockImplementation(async (...args) => {
    const reply = await advance(...args);
    if (!JSON.stringify(reply).includes(sent.id)) return reply;
    leased.resolve();
    await goOn.promise;
    return reply;
  });
  const messages = vi.spyOn(JobConsumer.prototype, 'interrupt');
  await shop.transport.publish([sent]);
  await leased.promise;
  expect(await other.transport.runs.cancel(sent.id, () => cancelled)).toBe(true);
  await until(() => messages.mock.calls.length === 1);
  goOn.resolve();
  const following = envelope('a');
  await shop.transport.publish([following]);
  expect((await next(shop)).envelope.id).toBe(following.id);
  expect(shop.waiting).toEqual([]);
});

it.each(['a', 'run'])(
  'an event of type %j whose message is lost is aborted with the next renewal of its lease',
  async (type) => {
    // Not subscribed to its messages.
    vi.spyOn(RunEnds.prototype, 'start').mockResolvedValue();
    const settings = { type, concurrency: 1, retainsRuns: type === 'run' };
    const shop = await consume([settings]);
    vi.restoreAllMocks();
    const other = await consume([], { concurrency: 1 });
    const sent = envelope(type);
    await shop.transport.publish([sent]);
    const delivery = await next(shop);
    const [aborted, returned] = [deferred<Error>(), deferred()];
    delivery.onRevoked = (reason) => {
      aborted.resolve(reason);
      return returned.promise;
    };
    const result =
      type === 'run'
        ? await other.transport.runs.end(type, sent.id, cancelled, new Error('cancelled'))
        : await other.transport.runs.cancel(sent.id, () => cancelled);
    expect(result).toBe(type === 'run' ? 'ok' : true);
    const following = envelope(type);
    await shop.transport.publish([following]);
    expect(await aborted.promise).toMatchObject({ message: 'cancelled' });
    expect(shop.waiting).toEqual([]);
    returned.resolve();
    expect((await next(shop)).envelope.id).toBe(following.id);
    expect(await admin.exists(`{${prefix()}}:overdue:shop/${type}`, `{${prefix()}}:interrupted:shop/${type}`)).toBe(0);
  },
);

it('a run that another process cancels while its process drains is aborted', async () => {
  const shop = await consume([runs]);
  const other = await consume([], { concurrency: 1 });
  const sent = envelope('run');
  await shop.transport.publish([sent]);
  const delivery = await next(shop);
  const reasons: Error[] = [];
  delivery.onRevoked = (reason) => void reasons.push(reason);
  const closing = shop.transport.close({ drainMs: 60_000 });
  expect(await other.transport.runs.end('run', sent.id, cancelled, new Error('cancelled'))).toBe('ok');
  expect(await closing).toEqual({ released: 0, overdue: 0 });
  expect(reasons).toMatchObject([{ message: 'cancelled' }]);
});

it('a process receives the messages about its runs before it takes the first one', async () => {
  const { start } = RunEnds.prototype;
  const members: number[] = [];
  vi.spyOn(RunEnds.prototype, 'start').mockImplementation(async function (this: RunEnds, listener) {
    members.push(await admin.zcard(`{${prefix()}}:members:shop`));
    await start.call(this, listener);
  });
  await consume([runs]);
  expect(members).toEqual([0]);
});
