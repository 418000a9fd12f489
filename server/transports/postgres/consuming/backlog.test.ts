import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { consume, connect, until } = contractStage(() => harness());

const event = `'type', 'a', 'requestId', 'r', 'depth', 0, 'delayMs', 0, 'priority', 0, 'replays', 0, 'body', '{}'`;
const outcome = "'status', 'completed', 'durationMs', 1, 'isOverdue', false, 'followUps', '[]'::json";
const queues = '(SELECT array_agg(id) FROM hubline.queues)';
const calls = {
  accept: `SELECT hubline.accept(json_build_array(json_build_object('id', 'new', ${event})), 'shop', 'o', NULL, member, 9)
    FROM hubline.member_types`,
  claim: `SELECT hubline.claim(member, 9, ${queues}, '{}', '{}') FROM hubline.member_types`,
  conclude: `SELECT hubline.conclude(owner, 'shop', json_build_array(json_build_object('seq', seq, 'token', token,
    ${outcome})), '(0,)') FROM hubline.events WHERE state = 'a'`,
  heartbeat: "SELECT hubline.heartbeat(member, '', '', 10000, 0, '{}', '{}') FROM hubline.member_types",
  addWaits: `SELECT hubline.add_waits(seq, token, '[{"key":"other","event":{"type":"go"}}]', 'shop')
    FROM hubline.events WHERE state = 'a' AND is_run`,
};

test('calls that each event takes read no more beside thousands of ready events and of waits', async () => {
  const perKey = { concurrency: 1 };
  const subscriptions = ['a', 'b', { type: 'slots', concurrency: 1 }, { type: 'keys', perKey }];
  const shop = await consume([...subscriptions, { type: 'run', retainsRuns: true }], { concurrency: 20 });
  const web = connect('web');
  await web.publish([envelope('run'), envelope('run'), envelope('a')]);
  await until(() => shop.waiting.length === 3);
  // Its plans are those of nearly empty tables.
  const client = await admin.connect();
  const entriesRead = async (): Promise<number> => {
    const { rows } = await client.query(`SELECT sum(pg_stat_get_xact_tuples_returned(oid))::int AS n FROM pg_class
      WHERE relnamespace = 'hubline'::regnamespace AND relkind IN ('r', 'i')`);
    return Number(rows[0]?.n);
  };
  const readBy = async (call: string): Promise<number> => {
    await client.query('BEGIN');
    const before = await entriesRead();
    await client.query(call.replace(/ FROM hubline.\w+(?: WHERE.*)?$/s, (from) => `${from} LIMIT 1`));
    const found = (await entriesRead()) - before;
    await client.query('ROLLBACK');
    return found;
  };
  for (const call of Object.values(calls)) await readBy(call);
  const backlog = 3_000;
  await client.query(`INSERT INTO hubline.events (queue, priority, accepted_at, is_run, id, request_id, key, depth, delay_ms,
      replays, state)
    SELECT q.id, 0, 0, q.type = 'run', q.type || n, 'r', CASE WHEN q.type = 'keys' THEN 'key ' || n % 100 END, 0, 0, 0,
      CASE WHEN q.type = 'run' THEN 's' ELSE 'r' END::"char"
    FROM hubline.queues q, generate_series(1, ${backlog}) n`);
  await client.query(`INSERT INTO hubline.waits (seq, key, queue, since, event_type)
    SELECT seq, 'w', queue, 0, 'go' FROM hubline.events WHERE state = 's'`);
  try {
    for (const statistics of ['of empty tables', 'of full tables']) {
      if (statistics === 'of full tables') await client.query('ANALYZE hubline.events, hubline.waits, hubline.queues');
      for (const [name, call] of Object.entries(calls)) {
        const read = await readBy(call);
        expect(read, `entries that ${name} reads with statistics ${statistics}`).toBeLessThan(500);
      }
    }
  } finally {
    client.release();
  }
});
