import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { suspended } from '../../contract/outcome.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { consume, until } = contractStage(() => harness());

test('suspended runs cost claims and heartbeats nothing', async () => {
  const shop = await consume([{ type: 'run', retainsRuns: true }], { concurrency: 500 });
  const runs = 500;
  await shop.transport.publish(Array.from({ length: runs }, () => envelope('run')));
  await until(() => shop.waiting.length === runs);
  await Promise.all(
    shop.waiting.splice(0).map(async (delivery) => {
      await delivery.wait([
        { key: 'sleep', delayMs: 600_000 },
        { key: 'event', event: { type: 'go', key: undefined } },
      ]);
      await delivery.commit(suspended(0));
    }),
  );
  const client = await admin.connect();
  try {
    await client.query('BEGIN');
    await client.query("SELECT hubline.claim(member, 500, ARRAY[queue], '{}', '{}') FROM hubline.member_types");
    await client.query("SELECT hubline.heartbeat(member, '', '', 10000, 0, '{}', '{}') FROM hubline.member_types");
    const { rows } = await client.query(
      "SELECT sum(seq_tup_read + idx_tup_fetch)::int AS n FROM pg_stat_xact_user_tables WHERE schemaname = 'hubline'",
    );
    expect(Number(rows[0]?.n)).toBeLessThan(runs / 2);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});
