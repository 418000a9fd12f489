import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import type { TransportManager } from '../../transport.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { ClaimFloor } from './claim-floor.js';

const { admin, harness } = await startTestPostgres();
const { connect, consume, until } = contractStage(() => harness());

test('a claim from a position on, and an outcome, read nothing of what has ended beside a transaction that lasts', async () => {
  const shop = await consume(['a'], { concurrency: 1_000 });
  const [reader, client] = [await admin.connect(), await admin.connect()];
  try {
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await reader.query('SELECT count(*) FROM hubline.events');
    const ended = 4_000;
    const endAll = async (sender: TransportManager): Promise<void> => {
      for (let sent = 0; sent < ended; sent += 50) {
        await sender.publish(Array.from({ length: 50 }, () => envelope('a')));
        await until(() => shop.waiting.length === 50);
        await Promise.all(shop.waiting.splice(0).map((delivery) => delivery.commit(completed())));
      }
    };
    const entries = async (): Promise<number> => {
      const { rows } = await client.query(
        `SELECT sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::int AS n FROM pg_class c JOIN pg_index i
        ON i.indrelid = c.oid WHERE relnamespace = 'hubline'::regnamespace AND relname IN ('events', 'ended', 'counted')`,
      );
      return Number(rows[0]?.n);
    };
    const entriesOf = async (call: string): Promise<number> => {
      await client.query('BEGIN');
      const before = await entries();
      await client.query(call);
      const found = (await entries()) - before;
      await client.query('ROLLBACK');
      return found;
    };
    const claim = (floor: string): string =>
      `SELECT hubline.claim(member, 500, ARRAY[queue], '{}', '{}', ${floor}) FROM hubline.member_types`;
    // Those that start with their acceptance were never among the ready ones: nearly all, unless a claim was under way.
    await endAll(shop.transport);
    expect(await entriesOf(claim('0'))).toBeLessThan(ended / 2);
    await endAll(connect('web'));
    expect(await entriesOf(claim('0'))).toBeGreaterThanOrEqual(ended);
    expect(await entriesOf(claim('(SELECT last_value FROM hubline.positions)'))).toBeLessThan(100);
    await shop.transport.publish([envelope('a')]);
    await until(() => shop.waiting.length === 1);
    const outcome = "'status', 'completed', 'durationMs', 1, 'isOverdue', false, 'followUps', '[]'::json";
    const conclude = `SELECT hubline.conclude(owner, 'shop', json_build_array(json_build_object('seq', seq, 'token', token,
      ${outcome})), '(0,)') FROM hubline.events`;
    expect(await entriesOf(conclude)).toBeLessThan(ended / 2);
    await client.query('SELECT hubline.fold_counts()');
    for (const call of ['SELECT hubline.fold_counts()', 'SELECT FROM hubline.all_counters']) {
      expect(await entriesOf(call), call).toBeLessThan(100);
    }
  } finally {
    client.release();
    await reader.query('COMMIT');
    reader.release();
  }
});

const [queues, open] = [[1, 2], new Set([1])];

test('claims after one that looked for long begin at the position that it found, for four times as long', () => {
  const floor = new ClaimFloor();
  const positionAt = (now: number): number => floor.next(queues, open, now).position;
  floor.learn(7, 4, 1_000);
  expect(positionAt(1_000)).toBe(0);
  floor.learn(7, 100, 1_000);
  expect(positionAt(1_399)).toBe(7);
  expect(positionAt(1_400)).toBe(0);
  // It had no room, or found no event.
  floor.learn(undefined, 100, 2_000);
  expect(positionAt(2_000)).toBe(0);
  floor.learn(9, 60_000, 3_000);
  expect([positionAt(4_999), positionAt(5_000)]).toEqual([9, 0]);
});

test('the first claim after a time of a position serves all queues, until such a claim is quick', () => {
  const floor = new ClaimFloor();
  const servedAt = (now: number): readonly number[] => floor.next(queues, open, now).queues;
  expect(servedAt(1_000)).toEqual([1]);
  floor.learn(7, 100, 1_000);
  expect([servedAt(1_399), servedAt(1_400)]).toEqual([[1], [1, 2]]);
  floor.learn(8, 4, 1_400);
  expect(servedAt(2_000)).toEqual([1]);
});
