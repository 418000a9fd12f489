import { closeSync, fstatSync, openSync, readSync, renameSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import { messageOf } from '../../../errors.js';
import { createFakeClock } from '../../../testing/fake-clock.js';
import { envelope } from '../../contract/envelope.js';
import { completed, suspended } from '../../contract/outcome.js';
import type { CommitResult } from '../../delivery.js';
import { silentLogger } from '../../transport.js';
import { newFile, openBeside, type Process, startProcess } from '../stage.fixture.js';
import { Committer } from './committer.js';
import type { Database } from './driver.js';
import { openOwned } from './open-database.js';

const unavailable = { code: 'ERR_TRANSPORT_UNAVAILABLE' };

/** Makes every write of the owner fail until the returned function is called. */
function block(database: Database): () => void {
  database.exec('BEGIN IMMEDIATE');
  return () => database.exec('ROLLBACK');
}

/** Makes every change of counters fail until the returned function is called. */
function breakCounters(database: Database): () => void {
  const fail = "BEGIN SELECT RAISE(ABORT, 'no space'); END";
  database.exec(`CREATE TRIGGER broken_insert BEFORE INSERT ON queues ${fail}`);
  database.exec(`CREATE TRIGGER broken_update BEFORE UPDATE ON queues ${fail}`);
  return () => database.exec('DROP TRIGGER broken_insert; DROP TRIGGER broken_update');
}

async function counts({ transport }: Process): Promise<object | undefined> {
  const [found] = await transport.counts.get(['a']);
  return found?.total;
}

it('refuses changes while the file cannot be written, and forgets and invents nothing', async () => {
  const file = newFile();
  const process = await startProcess({ file }, [{ type: 'a' }]);
  const { transport, clock, deliveries } = process;
  await transport.publish([envelope('a')]);
  await clock.settle();
  const first = deliveries[0];
  const unblock = breakCounters(await openBeside(file));

  const uncertain = envelope('a');
  await expect(transport.publish([uncertain])).rejects.toMatchObject(unavailable);
  let outcome: CommitResult | undefined;
  const commit = async (): Promise<void> => {
    outcome = await first?.commit(completed());
  };
  const committed = commit();
  await expect(transport.publish([envelope('a')])).rejects.toMatchObject({
    ...unavailable,
    message: expect.stringContaining('was not accepted'),
  });
  await expect(transport.kv.set('k', 'v')).rejects.toMatchObject(unavailable);
  await clock.advance(1_000);
  expect(outcome).toBeUndefined();
  expect(deliveries).toHaveLength(1);

  unblock();
  await clock.advance(5_000);
  await committed;
  expect(outcome).toBe('ok');
  expect(deliveries.map((delivery) => delivery.envelope.id)).toEqual([first?.envelope.id, uncertain.id]);
  await transport.publish([envelope('a')]);
  expect(await transport.kv.get('k')).toBeUndefined();
  expect(await counts(process)).toMatchObject({ received: 3, completed: 1, pending: 2 });
  await transport.close({ drainMs: 0 });

  const next = await startProcess({ file }, [{ type: 'a' }]);
  await next.clock.settle();
  expect(next.deliveries).toHaveLength(2);
  expect(await counts(next)).toMatchObject({ received: 3, completed: 1, pending: 2 });
});

it('accepts no change while another program writes to the file', async () => {
  const file = newFile();
  const { transport, clock, deliveries } = await startProcess({ file }, [{ type: 'a' }]);
  const unblock = block(await openBeside(file));
  await expect(transport.publish([envelope('a')])).rejects.toMatchObject({
    ...unavailable,
    message: expect.stringContaining('was not accepted'),
  });
  unblock();
  await clock.advance(5_000);
  expect(deliveries).toEqual([]);
  expect(await transport.publish([envelope('a')])).toHaveLength(1);
});

it('closes while the file cannot be written, and leaves what it stored', async () => {
  const file = newFile();
  const { transport, clock, deliveries } = await startProcess({ file }, [{ type: 'a' }]);
  const accepted = envelope('a');
  await transport.publish([accepted]);
  await clock.settle();
  const unblock = block(await openBeside(file));
  await expect(transport.publish([envelope('a')])).rejects.toMatchObject(unavailable);
  const committed = expect(deliveries[0]?.commit(completed())).rejects.toMatchObject(unavailable);
  expect(await transport.close({ drainMs: 0 })).toEqual({ released: 1, overdue: 0 });
  await committed;
  expect(clock.pendingTimers).toBe(0);
  unblock();

  const next = await startProcess({ file }, [{ type: 'a' }]);
  await next.clock.settle();
  expect(next.deliveries.map((delivery) => delivery.envelope.id)).toEqual([accepted.id]);
  expect(await counts(next)).toMatchObject({ received: 1, completed: 0, pending: 1 });
});

it('rejects nothing that no caller waits for when it closes while the file cannot be written', async () => {
  const file = newFile();
  // One event in memory, so that the delayed ones become due in the file.
  const { transport, clock, deliveries } = await startProcess({ file, maxPendingInMemory: 1 }, [
    { type: 'a' },
    { type: 'run', retainsRuns: true },
  ]);
  const rejected: unknown[] = [];
  const onRejection = (error: unknown): number => rejected.push(error);
  process.on('unhandledRejection', onRejection);
  onTestFinished(() => void process.off('unhandledRejection', onRejection));
  await transport.publish([envelope('run'), envelope('a'), ...[1, 2, 3].map(() => envelope('a', { delayMs: 500 }))]);
  await clock.settle();
  const [waiting, ended] = deliveries;
  await waiting?.wait([{ key: 'sleep', delayMs: 500 }]);
  await waiting?.commit(suspended(0));
  await ended?.commit(completed());
  const unblock = block(await openBeside(file));
  await clock.advance(1_000);
  await transport.close({ drainMs: 0 });
  // Rejections that nobody handles are reported after the microtasks of a turn.
  await new Promise((resolve) => setImmediate(resolve));
  unblock();
  expect(rejected).toEqual([]);
});

it('undoes the writes of a transaction that fails, and no other one', async () => {
  const file = newFile();
  const { transport, clock } = await startProcess({ file }, []);
  await transport.kv.set('n', '1');
  const unblock = block(await openBeside(file));
  const writes = [transport.kv.increment('n'), transport.kv.append('l', ['x'])];
  for (const write of writes) await expect(write).rejects.toMatchObject(unavailable);
  unblock();
  await clock.advance(5_000);
  expect(await transport.kv.increment('n')).toBe(2);
  expect(await transport.kv.range('l', 0, -1)).toEqual([]);
});

const damages: readonly (readonly [string, string, (file: string) => () => void])[] = [
  ['moved away', 'deleted or replaced', (file) => moveAway(file)],
  [
    'replaced',
    'deleted or replaced',
    (file) => {
      const moveBack = moveAway(file);
      writeFileSync(file, 'another file');
      return moveBack;
    },
  ],
  ['without its log', 'deleted or replaced', (file) => moveAway(`${file}-wal`)],
  ['emptied', 'truncated', (file) => cut(file, 0)],
  ['truncated', 'truncated', (file) => cut(file, 8_192)],
];

function moveAway(file: string): () => void {
  renameSync(file, `${file}.moved`);
  return () => renameSync(`${file}.moved`, file);
}

/** Returns a function that writes the rest again. */
function cut(file: string, size: number): () => void {
  const descriptor = openSync(file, 'r+');
  onTestFinished(() => closeSync(descriptor));
  const whole = Buffer.alloc(fstatSync(descriptor).size);
  readSync(descriptor, whole, 0, whole.length, 0);
  truncateSync(file, size);
  return () => writeSync(descriptor, whole, 0, whole.length, 0);
}

it.each(damages)(
  'refuses changes while the file is %s, and continues when it is there again',
  async (_, problem, damage) => {
    const file = newFile();
    const process = await startProcess({ file }, [{ type: 'a' }]);
    const { transport, clock, deliveries } = process;
    await transport.publish([envelope('a')]);
    await clock.settle();
    const beside = await openBeside(file);
    beside.exec('PRAGMA wal_checkpoint');
    // So that the process has seen the size of the file.
    await transport.publish([envelope('a')]);
    const repair = damage(file);
    const refused = { ...unavailable, message: expect.stringContaining('was not accepted') };
    await expect(transport.publish([envelope('a')])).rejects.toMatchObject(refused);
    await expect(transport.kv.set('k', 'v')).rejects.toMatchObject({ message: expect.stringContaining(problem) });
    const committed = deliveries[0]?.commit(completed());
    await clock.advance(1_000);
    repair();
    await clock.advance(5_000);
    expect(await committed).toBe('ok');
    await transport.publish([envelope('a')]);
    expect(await counts(process)).toMatchObject({ received: 3, completed: 1, pending: 2 });
    await transport.close({ drainMs: 0 });
    const next = await startProcess({ file }, [{ type: 'a' }]);
    expect(await counts(next)).toMatchObject({ received: 3, completed: 1, pending: 2 });
    expect(beside.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  },
);

it('bounds the changes that wait to be stored', async () => {
  const { transport } = await startProcess({ file: newFile() }, []);
  const writes = Array.from({ length: 100_001 }, () => transport.kv.increment('n').catch((error) => error.code));
  expect((await Promise.all(writes)).at(-1)).toBe('ERR_BACKPRESSURE');
  expect(await transport.kv.get('n')).toBe('100000');
});

it('bounds the bytes that wait to be stored', async () => {
  const { transport } = await startProcess({ file: newFile(), maxPendingBytes: 2 ** 40 }, [{ type: 'a' }]);
  const publish = async (): Promise<string> => {
    try {
      await transport.publish([{ ...envelope('a'), body: '{}', size: () => 300 * 1024 * 1024 }]);
      return 'accepted';
    } catch (error) {
      return messageOf(error);
    }
  };
  const refused = expect.stringMatching(/^bytes of changes that are not stored yet reached 536870912/);
  const values = [transport.kv.set('k', 'v'), transport.kv.append('l', ['v'])];
  expect(await Promise.all([publish(), publish(), publish()])).toEqual(['accepted', refused, refused]);
  await Promise.all(values);
  expect(await Promise.all([publish(), publish()])).toEqual(['accepted', refused]);
});

it('stores the changes of one turn in transactions of a limited size', async () => {
  const { database, ...owned } = await openOwned(newFile(), 'normal');
  const ended = vi.spyOn(database, 'exec');
  const clock = createFakeClock();
  const committer = new Committer({ database, ...owned }, clock, silentLogger);
  const applied: number[] = [];
  const changes = Array.from({ length: 600 }, (_, number) => committer.change(() => applied.push(number)));
  expect(ended).not.toHaveBeenCalled();
  await clock.settle();
  await Promise.all(changes);
  expect(applied).toEqual(Array.from({ length: 600 }, (_, number) => number));
  // At most 256 changes each.
  expect(ended.mock.calls.filter(([sql]) => sql === 'COMMIT').length).toBeGreaterThanOrEqual(3);
  committer.close();
  await owned.close();
});

it('stores nothing while the log has to be copied, and the rest at the end of the process', async () => {
  const { checkpoints, ...owned } = await openOwned(newFile(), 'normal');
  let copied = (): void => {};
  const transactionEnded = vi.fn((): Promise<void> | undefined => undefined);
  const waiting = { transactionEnded, copy: () => checkpoints.copy(), close: () => checkpoints.close() };
  const clock = createFakeClock();
  const committer = new Committer({ ...owned, checkpoints: waiting }, clock, silentLogger);
  const applied: number[] = [];
  const change = (number: number): Promise<unknown> => committer.change(() => applied.push(number));
  transactionEnded.mockReturnValueOnce(
    new Promise((resolve) => {
      copied = resolve;
    }),
  );
  await change(1);
  const second = change(2);
  await clock.settle();
  expect(applied).toEqual([1]);
  copied();
  await second;
  expect(applied).toEqual([1, 2]);

  transactionEnded.mockReturnValueOnce(new Promise(() => {}));
  await change(3);
  const last = change(4);
  committer.close();
  await last;
  expect(applied).toEqual([1, 2, 3, 4]);
  await owned.close();
});
