import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { silentLogger } from '../../transport.js';
import { Database } from '../connection/database.js';
import { resolvePostgresOptions } from '../postgres-options.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';
import { Upkeep } from './upkeep.js';

const { admin, url, harness } = await startTestPostgres();
const { consume, until } = contractStage(() => harness());

test('upkeep folds, drops and expires although a process stalls while it packs, whatever isolation is the default', async () => {
  const shop = await consume(['a'], { concurrency: 100 });
  await shop.transport.publish(Array.from({ length: 100 }, () => envelope('a')));
  await until(() => shop.waiting.length === 100);
  for (const delivery of shop.waiting.splice(0)) await delivery.commit(completed());
  await admin.query("INSERT INTO hubline.dedupe_ids VALUES ('a', 'expired', 'e', 0, 0)");
  const stalled = await admin.connect();
  const pool = new Pool({ connectionString: url, options: '-c default_transaction_isolation=repeatable\\ read' });
  onTestFinished(async () => {
    await stalled.query('ROLLBACK');
    stalled.release();
    await pool.end();
  });
  await stalled.query('BEGIN');
  await stalled.query('SELECT hubline.take_minutes(100)');
  await new Upkeep(new Database(resolvePostgresOptions({ pool, schema: 'hubline' })), silentLogger).run(0);
  const { rows } = await admin.query(`SELECT (SELECT count(*)::int FROM hubline.counted) AS counted,
    (SELECT count(*)::int FROM hubline.ended) AS ended, (SELECT count(*)::int FROM hubline.dedupe_ids) AS ids`);
  expect(rows).toEqual([{ counted: 0, ended: 50, ids: 0 }]);
});
