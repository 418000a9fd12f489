import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { CodecMismatchError } from '../../codec.js';
import { contractCodec } from '../../contract/describe-transport.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { PeriodHistory } from '../../statistics/period-history.js';
import { newFile, openBeside, type Process, startProcess } from '../stage.fixture.js';
import type { Database } from './driver.js';
import { migrations } from './schema.js';

const folder = join(import.meta.dirname, 'versions');
/** Files of every schema version, as the package wrote them. */
const versions = readdirSync(folder)
  .map((name) => ({ name, version: Number(/\d+/.exec(name)?.[0]) }))
  .sort((a, b) => a.version - b.version);

const subscriptions = [
  { type: 'order' },
  { type: 'keyed', perKey: { concurrency: 1 } },
  { type: 'calm', perKey: {}, debounce: { ms: 5_000 } },
  { type: 'flow', retainsRuns: true, trigger: 'order' },
  { type: 'child', retainsRuns: true },
];

/** Time at which the files were written. */
const writtenAt = 1_767_225_671_000;

function schemaOf(database: Database): readonly unknown[] {
  return database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all();
}

function ids({ deliveries }: Process): readonly string[] {
  return deliveries.map(({ envelope: { type, id } }) => (type === 'flow' ? type : id)).sort();
}

it('there is a file of every earlier version', () => {
  expect(versions.map(({ version }) => version)).toEqual(expect.arrayContaining([...migrations.keys()].slice(1)));
});

it.each(versions)('a hub continues with the file $name', async ({ name }) => {
  const file = newFile();
  const database = await openBeside(file);
  database.exec(readFileSync(join(folder, name), 'utf8'));
  const clock = createFakeClock(writtenAt);
  await expect(startProcess({ file, clock, codec: contractCodec }, subscriptions)).rejects.toThrow(CodecMismatchError);
  const process = await startProcess({ file, clock }, subscriptions);
  const { transport, deliveries } = process;
  await clock.settle();
  expect(ids(process)).toEqual(['calm', 'first', 'flow', 'retried']);
  const flow = deliveries.find(({ envelope: { type } }) => type === 'flow');
  expect([...(flow?.checkpoints.keys() ?? [])]).toEqual(['pick', 'kid', 'timer']);
  const calm = deliveries.find(({ envelope: { id } }) => id === 'calm');
  expect(calm?.envelope.body).toBe('2');
  const retried = deliveries.find(({ envelope: { id } }) => id === 'retried');
  expect(retried?.attempt).toBe(2);
  await deliveries.find(({ envelope: { id } }) => id === 'first')?.commit(completed());
  await clock.settle();
  expect(ids(process)).toContain('second');
  await clock.advance(50_000);
  expect(ids(process)).toContain('delayed');

  expect(await transport.counts.metrics('order')).toMatchObject({
    received: 4,
    completed: 1,
    failed: 1,
    retried: 1,
    pending: 2,
  });
  const [counts] = await transport.counts.get(['flow']);
  expect(counts?.total).toMatchObject({ received: 4, completed: 1, failed: 1, pending: 2, deadLetters: 1 });
  expect(await transport.deadLetters.list('order', 9)).toMatchObject([
    { envelope: { id: 'dead', body: '{"n":2}', priority: 3 }, error: { message: 'no stock' }, step: 'pick' },
  ]);
  expect(await transport.runs.get('child', 'kid')).toMatchObject({ status: 'completed', result: '"grown"' });
  expect(await transport.counts.failures('order')).toMatchObject([{ id: 'dead' }]);
  expect((await transport.lookup.recent('order')).newest.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['done', 'dead', 'retried', 'delayed']),
  );
  expect(await transport.publish([envelope('order', { dedupe: { id: 'same', windowMs: 1 } })])).toMatchObject([
    { id: 'retried', deduplicated: true },
  ]);
  expect(await transport.schedules.list()).toMatchObject([{ name: 'nightly', position: 1_767_225_601_000 }]);
  expect(await transport.deadLetters.replay('dead')).toBe(true);
  const { kv } = transport;
  expect([
    await kv.get('k'),
    await kv.get('expiring'),
    await kv.range('list', 0, -1),
    await kv.increment('n', 1),
  ]).toEqual(['v', 'e', ['a', 'b', 'c'], 6]);
  await transport.close({ drainMs: 0 });

  const created = newFile();
  await (await startProcess({ file: created }, [])).transport.close({ drainMs: 0 });
  expect(schemaOf(database)).toEqual(schemaOf(await openBeside(created)));
  expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: migrations.length });
});

/** Returns the history of `metered` in the file of version 6: 51 hours of events, every 37 minutes. */
function meteredHistory(): PeriodHistory {
  const history = new PeriodHistory();
  let at = writtenAt - 51 * 3_600_000;
  for (let index = 0; index < 84; index += 1) {
    for (let event = 0; event < 1 + (index % 3); event += 1) {
      history.count('received', at);
      history.countWait(0, at);
      history.countDuration(10 * index, at);
      history.count('completed', at);
    }
    at = Math.min(at + 37 * 60_000, writtenAt);
  }
  return history;
}

it('retains histories, and packs the minutes that are over', async () => {
  const file = newFile();
  const database = await openBeside(file);
  database.exec(readFileSync(join(folder, 'version-6.sql'), 'utf8'));
  const history = meteredHistory();
  const expected = {
    recent: history.recent(writtenAt),
    ...history.durations(writtenAt),
    histories: history.histories(writtenAt),
  };
  for (const _start of ['migrated', 'packed']) {
    const { transport } = await startProcess({ file, clock: createFakeClock(writtenAt) }, []);
    const { recent, waitMs, durationMs, histories } = await transport.counts.metrics('metered');
    expect({ recent, waitMs, durationMs, histories }).toEqual(expected);
    const [durations] = await transport.counts.durations(['metered']);
    expect(durations?.durationMs.counts).toEqual(history.totals().durationMs.counts);
    expect(durations?.durationMs.sumMs).toBeCloseTo(history.totals().durationMs.sumMs, 2);
    await transport.close({ drainMs: 0 });
    const left = database.prepare("SELECT count(*) AS count FROM counted_minutes WHERE type = 'metered'").get();
    expect(left).toEqual({ count: 1 });
  }
});
