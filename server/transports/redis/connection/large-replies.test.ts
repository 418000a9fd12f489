import { setMaxListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { completed, failed } from '../../contract/outcome.js';
import type { Subscription } from '../../delivery.js';
import { sharedQueue } from '../names.js';
import { redisStage } from '../redis-stage.fixture.js';
import { readArray } from './reply.js';
import { type Script, scripts } from './script.js';
import { maxBatchLength } from './script-limits.js';

const { admin, prefix, consume, next, until } = await redisStage();

const large = JSON.stringify('x'.repeat(maxBatchLength / 4));
const count = 12;
const runs: Subscription = { type: 'run', retainsRuns: true };

/** Returns a function that returns the length of the longest reply of the script. */
function longestReply(script: Script): () => Promise<number> {
  const run = vi.spyOn(script, 'run');
  return async () => {
    const replies = await Promise.all(run.mock.results.map(({ value }) => value));
    run.mockRestore();
    return Math.max(...replies.map((reply) => JSON.stringify(reply).length));
  };
}

it('fetches large events in several replies, so that Redis runs other commands in between', async () => {
  const shop = await consume(['a'], { concurrency: 1 });
  await shop.transport.publish(Array.from({ length: count }, () => envelope('a', { body: large })));
  await until(() => shop.waiting.length === 1);
  const tokens = Array.from({ length: count - 1 }, (_, n) => `token-${n}`);
  let fetched = 0;
  while (fetched < tokens.length) {
    const args = [0, 0, 0, sharedQueue('shop'), 60_000, ...tokens.slice(fetched)];
    const [, leased] = readArray(await scripts.advanceJobs.run(admin, `{${prefix()}}`, args));
    const [jobs] = readArray(leased);
    expect(JSON.stringify(jobs).length).toBeLessThan(1.5 * maxBatchLength);
    fetched += readArray(jobs).length;
  }
});

it('reads large dead letters in several replies', async () => {
  const shop = await consume(['a']);
  await shop.transport.publish(Array.from({ length: count }, () => envelope('a', { body: large })));
  for (let n = 0; n < count; n += 1) await (await next(shop)).commit(failed('no'));
  const longest = longestReply(scripts.readDeadLetters);
  const found = await shop.transport.deadLetters.list('a', 100);
  expect(found.map(({ envelope: { body } }) => body)).toEqual(Array(count).fill(large));
  expect(await longest()).toBeLessThan(1.5 * maxBatchLength);
});

it('reads large results of runs that end together in several replies', async () => {
  const shop = await consume([runs]);
  const sent = Array.from({ length: count }, () => envelope('run'));
  await shop.transport.publish(sent);
  await until(() => shop.waiting.length === count);
  await Promise.all(shop.waiting.map((delivery) => delivery.commit({ ...completed(), result: large })));
  const longest = longestReply(scripts.awaitRuns);
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const ended = await Promise.all(sent.map(({ id }) => shop.transport.runs.ended('run', id, signal)));
  expect(ended.map((run) => run?.result)).toEqual(Array(count).fill(large));
  expect(await longest()).toBeLessThan(1.5 * maxBatchLength);
});
