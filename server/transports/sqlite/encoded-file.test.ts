import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { contractCodec as codec } from '../contract/describe-transport.js';
import { envelope } from '../contract/envelope.js';
import { completed, failed, suspended } from '../contract/outcome.js';
import { silentLogger } from '../transport.js';
import { sqliteObserver } from './sqlite-observer.js';
import { newFile, startProcess } from './stage.fixture.js';

const secret = 'private-4711';
const body = JSON.stringify({ secret });

it('has payloads, results, checkpoints, waits, key-values and answers to observers in encoded form only', async () => {
  const file = newFile();
  const folder = dirname(file);
  const expectEncoded = (): void => {
    const files = readdirSync(folder);
    expect(files).toContain('hub.db-wal');
    for (const name of files) expect(readFileSync(join(folder, name)).includes(secret), name).toBe(false);
  };
  const subscriptions = [{ type: 'a' }, { type: 'run', retainsRuns: true }, { type: 'child', retainsRuns: true }];
  const first = await startProcess({ file, codec, synchronous: 'normal' }, subscriptions);
  const { transport, clock, deliveries } = first;
  const take = async () => {
    await clock.settle();
    const delivery = deliveries.shift();
    if (delivery === undefined) throw new Error('no delivery');
    return delivery;
  };
  const [dead, run] = [envelope('a', { body }), envelope('run', { body })];
  await transport.publish([dead, envelope('a', { body, delayMs: 1_000 })]);
  await (await take()).commit({ ...failed('no'), followUps: [envelope('a', { body, delayMs: 5_000 })] });
  await transport.publish([run]);
  const delivery = await take();
  await delivery.checkpoint('step', JSON.stringify({ output: secret }));
  const child = envelope('child', { body, parent: { type: 'run', id: run.id, wait: 'child' } });
  await delivery.wait([
    { key: 'news', event: { type: 'news', key: undefined } },
    { key: 'child', run: child, onCancel: [envelope('a', { body })] },
  ]);
  await delivery.commit(suspended(1));
  await (await take()).commit({ ...completed(), result: body });
  await transport.publish([envelope('news', { body })]);
  await transport.kv.set('k', secret);
  await transport.kv.append('list', [secret]);
  expectEncoded();

  const observer = sqliteObserver({ file, codec, clock }).connect({ service: 'shop', logger: silentLogger });
  onTestFinished(async () => {
    await observer.close({ drainMs: 0 });
  });
  expect(await observer.deadLetters.list('a', 9)).toMatchObject([{ envelope: { id: dead.id, body } }]);
  expect((await observer.runs.get('run', run.id))?.checkpoints.get('step')).toContain(secret);
  expect(await observer.kv.range('list', 0, 0)).toEqual([secret]);
  expectEncoded();
  await transport.close({ drainMs: 0 });
  expect(await observer.lookup.find(dead.id, { bodies: true })).toMatchObject([{ body }]);
  expectEncoded();

  const next = await startProcess({ file, codec, clock }, subscriptions);
  await clock.settle();
  const resumed = next.deliveries.find(({ envelope: { id } }) => id === run.id);
  expect(resumed?.envelope.body).toBe(body);
  expect([...(resumed?.checkpoints.values() ?? [])].join()).toContain(secret);
  expect(await next.transport.kv.get('k')).toBe(secret);
  expectEncoded();
});
