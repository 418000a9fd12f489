import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFakeClock, type FakeClock } from '../../server/testing/fake-clock.js';
import { envelope } from '../../server/transports/contract/envelope.js';
import { completed as completion, failed as failure, retry } from '../../server/transports/contract/outcome.js';
import type { Delivery } from '../../server/transports/delivery.js';
import type { Database } from '../../server/transports/sqlite/database/driver.js';
import { openPatiently } from '../../server/transports/sqlite/open-patiently.fixture.js';
import { sqliteTransport } from '../../server/transports/sqlite/sqlite-transport.js';
import { silentLogger, type TransportManager } from '../../server/transports/transport.js';
import { isLong } from '../workers/scene.js';

const operationsPerRun = isLong ? 400 : 60;
// The driver closes the files of a recovery when its statements are collected as garbage.
const cutsPerRun = isLong ? 1_500 : 250;
const types = ['a', 'run', 'child'];
const operationsPerCheckpoint = 9;
const walHeaderSize = 32;
const frameHeaderSize = 24;

/** Content of the disk after an operation, and the state that it stands for. */
interface Moment {
  readonly database: Buffer;
  readonly log: Buffer;
  readonly state: string;
}

/** Files that a power loss may leave, and the states that they may stand for. */
interface Cut {
  readonly name: string;
  readonly database: Buffer;
  readonly log: Buffer;
  readonly states: readonly string[];
}

let folder: string;
let recoveries = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hubline-power-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns everything that an owner acknowledged, as JSON. */
async function stateOf(transport: TransportManager): Promise<string> {
  const { counts, runs, total } = await transport.lookup.overview({ types, runTypes: types, runLimit: 50 });
  const state = {
    // Running handlers end with the process.
    counts: counts.map(({ total: { active: _, ...rest } }) => rest),
    // Waiting times are those of starts, which nobody acknowledges.
    history: Object.values(total.histories).map(({ received, completed, failed }) => [received, completed, failed]),
    runs: runs.flat().map(({ id, attempt, status, checkpoints, waits, result, error }) => ({
      ...{ id, attempt, waits, result, error, checkpoints: [...checkpoints] },
      status: status === 'active' ? 'waiting' : status,
    })),
    pending: await Promise.all(
      types.map(async (type) =>
        (await transport.lookup.recent(type)).newest
          .filter(({ endedAt, run }) => endedAt === undefined && run === undefined)
          .map(({ id, attempt, status, dueAt }) => [id, attempt, status === 'active' ? 'waiting' : status, dueAt]),
      ),
    ),
    dead: await Promise.all(types.map((type) => transport.deadLetters.list(type, 100))),
    failures: await Promise.all(types.map((type) => transport.counts.failures(type))),
    kv: [await transport.kv.get('k'), await transport.kv.get('n'), await transport.kv.range('list', 0, -1)],
  };
  return JSON.stringify(state, (_, value) =>
    value instanceof Object && !Array.isArray(value) ? sorted(value) : value,
  );
}

/** Returns an object with its properties in the order of their names. */
function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Does one operation of the workload, which ends with its acknowledgement. */
async function operate(
  transport: TransportManager,
  deliveries: Delivery[],
  random: () => number,
  clock: FakeClock,
): Promise<void> {
  await clock.settle();
  const pick = Math.floor(random() * 12);
  const delivery = deliveries.splice(Math.floor(random() * deliveries.length), 1)[0];
  const body = JSON.stringify('x'.repeat(Math.floor(random() ** 4 * 20_000)));
  if (pick === 0 || delivery === undefined) await transport.publish([envelope('a', { body })]);
  else if (pick === 1) await transport.publish([envelope('run', { body }), envelope('a', { delayMs: 1_000 })]);
  else if (pick === 2) await transport.publish([envelope('a', { dedupe: { id: 'same', windowMs: 60_000 } })]);
  else if (pick === 3) await transport.kv.set('k', body);
  else if (pick === 4) await transport.kv.append('list', [String(random())]);
  else if (pick === 5) await transport.kv.increment('n', 1);
  else if (pick === 6) await delivery.commit(failure('no'));
  else if (pick === 7) await delivery.commit(retry(random() < 0.5 ? 0 : 500));
  else if (pick === 8) {
    const [dead] = await transport.deadLetters.list('a', 1);
    if (dead !== undefined) await transport.deadLetters.replay(dead.envelope.id);
  } else if (pick === 9 && delivery.envelope.type === 'run') {
    await delivery.checkpoint(`step ${random()}`, body, [envelope('a')]);
  } else if (pick === 10 && delivery.envelope.type === 'run') {
    const parent = { type: 'run', id: delivery.envelope.id, wait: 'child' };
    await delivery.wait([{ key: 'child', run: envelope('child', { parent }) }]);
  } else await delivery.commit({ ...completion([envelope('a')]), result: body });
  // Deliveries that an operation left out stay leased, as handlers that run for long.
}

/** Records what is on the disk after each operation of a workload. */
async function record(file: string, random: () => number): Promise<{ moments: Moment[]; clock: FakeClock }> {
  const clock = createFakeClock();
  const transport = sqliteTransport({ file, clock, synchronous: 'full' }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  const deliveries: Delivery[] = [];
  const subscriptions = types.map((type) => ({ type, ...(type !== 'a' && { retainsRuns: true }) }));
  await transport.start({ concurrency: 20, subscriptions, onDelivery: (delivery) => deliveries.push(delivery) });
  const beside = await openPatiently(file);
  const look = async (): Promise<Moment> => ({
    database: readFileSync(file),
    log: readFileSync(`${file}-wal`),
    state: await stateOf(transport),
  });
  const moments = [await look()];
  for (let count = 0; count < operationsPerRun; count += 1) {
    if ((count + 1) % operationsPerCheckpoint === 0) checkpoint(beside);
    else await operate(transport, deliveries, random, clock);
    await clock.settle();
    moments.push(await look());
  }
  beside.close();
  await transport.close({ drainMs: 0 });
  return { moments, clock };
}

/** Copies the log into the file, so that the next operation begins the log again. */
function checkpoint(database: Database): void {
  expect(database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get()).toMatchObject({ busy: 0 });
}

/** Returns the files that a power loss between two moments may leave. */
function* cutsBetween(before: Moment, after: Moment, random: () => number): Iterable<Cut> {
  const states = [before.state, after.state];
  const pageSize = after.database.readUInt16BE(16);
  const frameSize = frameHeaderSize + pageSize;
  const [from, to] = changedRange(before.log, after.log);
  const boundaries = [0, walHeaderSize];
  for (let at = walHeaderSize + frameSize; at <= after.log.length; at += frameSize) boundaries.push(at);
  const within = boundaries.flatMap((at) => [at, at + 12, at + frameHeaderSize + Math.floor(random() * pageSize)]);
  for (const at of within) {
    if (at < from || at >= to) continue;
    const written = after.log.subarray(0, at);
    yield { name: `log cut at ${at}`, database: before.database, log: written, states };
    const log = Buffer.concat([written, before.log.subarray(at)]);
    yield { name: `log written up to ${at}`, database: before.database, log, states };
  }
  if (to > from) yield { name: 'whole log', database: before.database, log: after.log, states: [after.state] };
  if (before.database.equals(after.database)) return;
  // A checkpoint: the file has some of its pages, and the log still has all.
  for (let tries = 0; tries < 3; tries += 1) {
    const database = Buffer.from(after.database);
    for (let at = 0; at < before.database.length; at += pageSize) {
      if (random() < 0.5) before.database.copy(database, at, at, at + pageSize);
      else if (random() < 0.1) before.database.copy(database, at, at, at + pageSize / 2);
    }
    const size = random() < 0.5 ? Math.max(before.database.length, pageSize) : database.length;
    const part = database.subarray(0, size);
    yield { name: `checkpoint ${tries}`, database: part, log: after.log, states: [after.state] };
  }
}

/** Returns files that lack the last changes. A checkpoint waits until the disk has the log. */
function* lastingCuts(moments: readonly Moment[], random: () => number): Iterable<Cut> {
  let [from, to] = [moments[0]?.log.length ?? 0, 0];
  for (const [index, after] of moments.entries()) {
    const before = moments[index - 1];
    if (before === undefined) continue;
    if (index % operationsPerCheckpoint === 0) {
      [from, to] = [0, 0];
      continue;
    }
    to = Math.max(to, changedRange(before.log, after.log)[1]);
    if (to <= from || random() > cutsPerRun / moments.length / 10) continue;
    const at = from + Math.floor(random() * (to - from));
    yield { name: `log of operation ${index} cut at ${at}`, ...after, log: after.log.subarray(0, at), states: [] };
  }
}

/** Returns the part of the log that an operation wrote. */
function changedRange(before: Buffer, after: Buffer): readonly [from: number, to: number] {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let to = after.length;
  if (before.length >= after.length) while (to > from && before[to - 1] === after[to - 1]) to -= 1;
  return [from, to];
}

/** Opens what a power loss left, as the next process does. Returns its state. */
async function recover({ database, log }: Cut, clock: FakeClock): Promise<string> {
  recoveries += 1;
  // A driver may keep the index of a log in memory, by the file.
  const file = join(folder, `recovered-${recoveries}.db`);
  writeFileSync(file, database);
  writeFileSync(`${file}-wal`, log);
  const transport = sqliteTransport({ file, clock, synchronous: 'normal' }).connect({
    service: 'shop',
    logger: silentLogger,
  });
  const state = await stateOf(transport);
  const beside = await openPatiently(file, { readOnly: true });
  expect(beside.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  beside.close();
  await transport.close({ drainMs: 0 });
  for (const suffix of ['', '-wal', '-shm', '-lock']) rmSync(`${file}${suffix}`, { force: true });
  return state;
}

/** Returns a generator of numbers from 0 to 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

it('a power loss at any write leaves every acknowledged change, exact counters, and no part of another change', {
  timeout: 1_200_000,
}, async () => {
  const seed = isLong ? Date.now() % 1_000_000 : 18;
  const random = randomNumbers(seed);
  const { moments, clock } = await record(join(folder, 'hub.db'), random);
  const cuts = moments.slice(1).flatMap((after, index) => {
    const before = moments[index];
    return before === undefined ? [] : [...cutsBetween(before, after, random)].map((cut) => ({ ...cut, index }));
  });
  const chosen = cuts.length <= cutsPerRun ? cuts : cuts.filter(() => random() < cutsPerRun / cuts.length);
  for (const cut of chosen) {
    const state = await recover(cut, clock);
    if (!cut.states.includes(state)) {
      expect(JSON.parse(state), `seed ${seed}, operation ${cut.index}, ${cut.name}`).toEqual(
        JSON.parse(cut.states.at(-1) ?? ''),
      );
    }
  }
  // Without the promise that the disk has a change when it is acknowledged, the state is an earlier one as a whole.
  const known = new Set(moments.map(({ state }) => state));
  const logCuts = [...lastingCuts(moments, random)];
  for (const cut of logCuts) {
    expect(known.has(await recover(cut, clock)), `seed ${seed}, ${cut.name}`).toBe(true);
  }
  console.log(
    `seed ${seed}: ${moments.length} operations, ${chosen.length} of ${cuts.length} cuts, ${logCuts.length} lost ends`,
  );
});
