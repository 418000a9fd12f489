import { afterEach, expect, it, vi } from 'vitest';
import { deferred } from '../../../hub/hub.fixture.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { Subscription } from '../../delivery.js';
import { scripts } from '../connection/script.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, consume, next } = await redisStage();
afterEach(() => {
  vi.restoreAllMocks();
});

const runs: Subscription = { type: 'run', retainsRuns: true };

it('aborts a handler before another process receives its event', async () => {
  const shop = await consume(['a']);
  await shop.transport.publish([envelope('a')]);
  const delivery = await next(shop);
  const reasons: Error[] = [];
  delivery.onRevoked = (reason) => void reasons.push(reason);
  const other = await consume(['a']);
  const release = scripts.releaseJobs.run.bind(scripts.releaseJobs);
  const replying = deferred();
  vi.spyOn(scripts.releaseJobs, 'run').mockImplementation(async (...args) => {
    const reply = await release(...args);
    await replying.promise;
    return reply;
  });
  const closing = shop.transport.close({ drainMs: 0 });
  const again = await next(other);
  expect(reasons).toMatchObject([{ code: 'ERR_SHUTDOWN' }]);
  replying.resolve();
  expect(await closing).toEqual({ released: 1, overdue: 0 });
  expect(await again.commit(completed())).toBe('ok');
});

it('leaves no connection to calls that wait for a run when the connection is closed', async () => {
  const shop = await consume([runs]);
  const other = await consume([], { concurrency: 1 });
  const sent = envelope('run');
  await shop.transport.publish([sent]);
  await shop.transport.close({ drainMs: 0 });
  await other.transport.close({ drainMs: 0 });
  const stopped = new AbortController();
  const ended = shop.transport.runs.ended('run', sent.id, stopped.signal);
  const endWatch = await shop.transport.runs.watch('run', sent.id, () => {});
  stopped.abort(new Error('the hub has stopped'));
  await expect(ended).rejects.toThrow('the hub has stopped');
  endWatch();
  const late = other.transport.runs.ended('run', sent.id, stopped.signal);
  await expect(late).rejects.toThrow('the hub has stopped');
  expect(await admin.client('LIST', 'TYPE', 'PUBSUB')).toBe('');
});
