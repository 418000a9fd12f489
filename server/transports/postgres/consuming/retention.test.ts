import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { failed } from '../../contract/outcome.js';
import { retainedRecent } from '../../limits.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { consume, until } = contractStage(() => harness({ maxDeadLetters: 1 }));

test('an event that is no dead letter any more keeps no payload, and a run that is retained keeps its own', async () => {
  const shop = await consume(['a', { type: 'run', retainsRuns: true }]);
  const bodies = async (): Promise<unknown> => {
    const { rows } = await admin.query(
      'SELECT id, is_dead, body IS NOT NULL AS has_body FROM hubline.ended ORDER BY number',
    );
    return rows.map(({ id, is_dead: isDead, has_body: hasBody }) => [id, isDead, hasBody]);
  };
  const fail = async (type: string): Promise<string> => {
    const event = envelope(type);
    await shop.transport.publish([event]);
    await until(() => shop.waiting.length > 0);
    await shop.shift().commit(failed('broken'));
    return event.id;
  };
  const [first, second] = [await fail('a'), await fail('a')];
  expect(await bodies()).toEqual([
    [first, false, false],
    [second, true, true],
  ]);
  await admin.query('UPDATE hubline.ended SET dead_until = 1');
  await admin.query("SELECT hubline.sweep('(1,)')");
  const [run, later] = [await fail('run'), await fail('run')];
  expect(await bodies()).toEqual([
    [first, false, false],
    [second, false, false],
    [run, false, true],
    [later, true, true],
  ]);
});

test('events are retained although newer ones, which end in the same call, had lost their locks', async () => {
  const shop = await consume(['a'], { concurrency: 200 });
  const sent = Array.from({ length: 2 * retainedRecent + 10 }, () => envelope('a'));
  await shop.transport.publish(sent);
  await until(() => shop.waiting.length === sent.length);
  const { rows } = await admin.query(
    `SELECT hubline.conclude(min(owner), 'shop', json_agg(json_build_object('seq', seq, 'token',
      CASE WHEN place > 50 THEN 0 ELSE token END, 'status', 'completed', 'durationMs', 1, 'followUps', '[]'::json,
      'isOverdue', false) ORDER BY place), '(1,)') AS results
    FROM (SELECT *, row_number() OVER (ORDER BY seq) AS place FROM hubline.events) e`,
  );
  const results = sent.map((_, place) => (place < retainedRecent ? 'ok' : 'fenced'));
  expect(rows).toEqual([{ results }]);
  const found = await Promise.all(sent.slice(0, retainedRecent).map(({ id }) => shop.transport.lookup.find(id)));
  expect(found.map(([event]) => event?.status)).toEqual(found.map(() => 'completed'));
});
