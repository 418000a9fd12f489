import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed, retry } from '../../contract/outcome.js';
import type { Delivery, Outcome } from '../../delivery.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { connect, consume, counts, until } = contractStage(() => harness({ pollIntervalMs: 200 }));

const keys = 40;
const perKey = 25;
const serial = { type: 'a', perKey: { concurrency: 1 } };

test(`${keys * perKey} events of ${keys} keys end, whoever emits, retries and ends them at the same time`, async () => {
  const consumptions = await Promise.all([1, 2, 3].map(() => consume([serial], { concurrency: 5 })));
  const running = new Set<string>();
  const problems: string[] = [];
  const handle = async (delivery: Delivery, n: number): Promise<void> => {
    const { key = '' } = delivery.envelope;
    if (running.has(key)) problems.push(`${key} ran twice at once`);
    running.add(key);
    let outcome: Outcome = completed();
    if (n % 5 === 0 && delivery.attempt < 3) outcome = retry(n % 2);
    // Before its outcome, after which another one may start.
    running.delete(key);
    await delivery.commit(outcome);
  };
  let handled = 0;
  const pump = (): void => {
    for (const { waiting } of consumptions) {
      for (const delivery of waiting.splice(0)) void handle(delivery, handled++);
    }
  };
  const emitters = [connect('web'), connect('mail')] as const;
  const emitting = Promise.all(
    emitters.map(async (emitter, half) => {
      for (let n = half; n < perKey; n += 2) {
        for (let from = 0; from < keys; from += 8) {
          await emitter.publish(Array.from({ length: 8 }, (_, k) => envelope('a', { key: `key ${from + k}` })));
        }
      }
    }),
  );
  await until(async () => {
    pump();
    return (await counts(emitters[0], 'a')).completed === keys * perKey;
  });
  await emitting;
  expect(problems).toEqual([]);
  for (const emitter of emitters) await emitter.close({ drainMs: 0 });
});

test('a claim reads as many rows as it takes events, however many keys wait', async () => {
  const shop = await consume([serial], { concurrency: 1 });
  const waiting = 1_000;
  for (let from = 0; from < waiting; from += 500) {
    await shop.transport.publish(Array.from({ length: 500 }, (_, n) => envelope('a', { key: `key ${from + n}` })));
  }
  await until(() => shop.waiting.length === 1);
  const client = await admin.connect();
  try {
    await client.query('BEGIN');
    const claimed = await client.query(
      "SELECT hubline.claim(member, 10, ARRAY[queue], '{}', '{}') -> 'deliveries' AS all FROM hubline.member_types",
    );
    expect(claimed.rows[0]?.all).toHaveLength(10);
    // It may be the call that adds up what others have counted.
    const { rows } =
      await client.query(`SELECT sum(seq_tup_read + idx_tup_fetch)::int AS n FROM pg_stat_xact_user_tables
      WHERE schemaname = 'hubline' AND relname <> 'counted'`);
    expect(Number(rows[0]?.n)).toBeLessThan(waiting / 2);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});
