import { afterEach, expect, it, vi } from 'vitest';
import { deferred } from '../../../hub/hub.fixture.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { redisStage } from '../redis-stage.fixture.js';
import { releaseJobsScript } from './release-jobs-script.js';

const { consume, next } = await redisStage();
afterEach(() => {
  vi.restoreAllMocks();
});

it('aborts a handler before another process receives its event', async () => {
  const shop = await consume(['a']);
  await shop.transport.publish([envelope('a')]);
  const delivery = await next(shop);
  const reasons: Error[] = [];
  delivery.onRevoked = (reason) => reasons.push(reason);
  const other = await consume(['a']);
  const release = releaseJobsScript.run.bind(releaseJobsScript);
  const replying = deferred();
  vi.spyOn(releaseJobsScript, 'run').mockImplementation(async (...args) => {
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
