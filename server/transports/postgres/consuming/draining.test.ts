import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const lockDurationMs = 300;
const { admin, harness } = await startTestPostgres();
const { consume, next, until } = contractStage(() => harness({ lockDurationMs }));

test('a process that drains keeps its locks until its handlers have returned', async () => {
  const draining = await consume(['a']);
  await draining.transport.publish([envelope('a')]);
  const delivery = await next(draining);
  const member = async (): Promise<number> => {
    const { rows } = await admin.query('SELECT alive_until FROM hubline.members ORDER BY id LIMIT 1');
    return Number(rows[0]?.['alive_until']);
  };
  const other = await consume(['a']);
  const closed = draining.transport.close({ drainMs: 60_000 });
  const from = await member();
  await until(async () => (await member()) > from + 2 * lockDurationMs);
  expect(await delivery.commit(completed())).toBe('ok');
  expect(await closed).toEqual({ released: 0, overdue: 0 });
  expect(other.waiting).toEqual([]);
});
