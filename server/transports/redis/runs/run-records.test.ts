import { expect, it } from 'vitest';
import { envelope } from '../../contract/envelope.js';
import { redisStage } from '../redis-stage.fixture.js';

const { admin, prefix, consume, next } = await redisStage();

const bodies = ['null', '"a\\"b"', '"\\\\"', '"\\ud800"', '{"depth":0,"replays":0}', `"${'ü"\\'.repeat(3_000)}"`];

async function storedRun(id: string): Promise<Record<string, string>> {
  return admin.hgetall(`{${prefix()}}:run:shop/a:e-${id}`);
}

it('of an event that was accepted before its type kept runs is as one of an event that is accepted later', async () => {
  const fields = { key: 'k","body":"', requestId: 'r', trace: { traceparent: 't' } };
  const before = await consume(['a']);
  const early = bodies.map((body) => envelope('a', { ...fields, body }));
  await before.transport.publish(early);
  for (const _ of early) await next(before);
  await before.transport.close({ drainMs: 0 });
  expect(await storedRun(early[0]?.id ?? '')).toEqual({});

  const after = await consume([{ type: 'a', retainsRuns: true }]);
  const late = bodies.map((body) => envelope('a', { ...fields, body }));
  await after.transport.publish(late);
  for (const _ of [...early, ...late]) await next(after);
  for (const [index, { id }] of early.entries()) {
    const run = await storedRun(id);
    const { acceptedAt, ...rest } = await storedRun(late[index]?.id ?? '');
    expect(run).toEqual({ ...rest, acceptedAt: expect.any(String) });
    expect(Number(run['acceptedAt'])).toBeLessThanOrEqual(Number(acceptedAt));
    expect(run['shown']).toContain(',"body":"null"');
  }
  const listed = await admin.zrange(`{${prefix()}}:runs:shop/a`, '0', '-1');
  expect(listed).toEqual([...early, ...late].map(({ id }) => `e-${id}`));
});
