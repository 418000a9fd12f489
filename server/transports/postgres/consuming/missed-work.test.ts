import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { completed } from '../../contract/outcome.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { consume, counts, next } = contractStage(() => harness({ lockDurationMs: 1_000 }));

test('a heartbeat finds ready events and due times that no notification told of', async () => {
  const shop = await consume(['a']);
  const [ready, delayed] = [envelope('a'), envelope('a', { delayMs: 3_600_000 })];
  await shop.transport.publish([delayed]);
  await admin.query('CREATE OR REPLACE FUNCTION hubline.notify(message text) RETURNS void LANGUAGE sql AS $$ $$');
  const other = await consume([], { service: 'other' });
  await other.transport.publish([ready]);
  await (await next(shop)).commit(completed());
  await admin.query('UPDATE hubline.events SET due_at = hubline.now_ms() + 1');
  await (await next(shop)).commit(completed());
  expect(await counts(shop.transport, 'a')).toMatchObject({ completed: 2, pending: 0 });
});
