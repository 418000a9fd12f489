import { expect, test } from 'vitest';
import { contractStage } from '../../contract/contract-stage.js';
import { envelope } from '../../contract/envelope.js';
import { startTestPostgres } from '../postgres-stage.fixture.js';

const { admin, harness } = await startTestPostgres();
const { consume, connect, until } = contractStage(() => harness());

const event = `'type', 'a', 'requestId', 'r', 'depth', 0, 'delayMs', 0, 'priority', 0, 'replays', 0, 'body', '{}'`;
const [active, run] = [false, true].map((isRun) => `FROM hubline.events WHERE state = 'a' AND is_run = ${isRun}`);

function conclude(status: string, from = active): string {
  const outcome = `'seq', seq, 'token', token, 'status', '${status}', 'durationMs', 1, 'delayMs', 0, 'seen', 0,
    'isOverdue', false, 'followUps', '[]'::json, 'error', '{"name":"Error","message":"broken"}'::json`;
  return `SELECT hubline.conclude(owner, 'shop', json_build_array(json_build_object(${outcome})), '(9999,)') ${from}`;
}

const calls = {
  accept: `SELECT hubline.accept(json_build_array(json_build_object('id', 'new', ${event})), 'shop', 'o', NULL, member, '{1}')
    FROM hubline.member_types`,
  claim: `SELECT hubline.claim(member, 9, '{QUEUES}', '{}', '{}') FROM hubline.member_types`,
  heartbeat: "SELECT hubline.heartbeat(member, '', '', 10000, 0, '{}', '{}') FROM hubline.member_types",
  complete: conclude('completed'),
  fail: conclude('failed'),
  retry: conclude('retry'),
  completeRun: conclude('completed', run),
  failRun: conclude('failed', run),
  suspend: conclude('suspended', run),
  checkpoint: `SELECT hubline.checkpoint(seq, token, 0, 'step', '1', '[]', 'shop') ${run}`,
  addWaits: `SELECT hubline.add_waits(seq, token, '[{"key":"other","event":{"type":"go"}}]', 'shop') ${run}`,
  news: `SELECT hubline.news_json(seq, 0) ${run}`,
  endRun: `SELECT hubline.end_run('shop', 'run', id, '{"status":"failed","isCancelled":true,"durationMs":0,"followUps":[],
    "isOverdue":false,"error":{"name":"Error","message":"stopped"}}', '{}', '(9999,)') ${run}`,
  replay: `SELECT hubline.replay('shop', 'dead 7') ${active}`,
  findById: `SELECT hubline.find_events(id, NULL, false, 10) ${run}`,
  findByRequest: `SELECT hubline.find_events(NULL, request_id, false, 10) ${run}`,
  readRun: `SELECT hubline.read_run('shop', 'run', id, 0) ${run}`,
  recentEvents: `SELECT hubline.recent_events('run') ${active}`,
  admit: `SELECT hubline.admit(seq, token) ${active}`,
  findCancellable: `SELECT hubline.find_cancellable('shop', id) ${active}`,
  cancel: `SELECT hubline.cancel_event(json_build_object('seq', seq, 'status', 'failed', 'isCancelled', true, 'durationMs', 0,
    'followUps', '[]'::json, 'isOverdue', false, 'error', '{}'::json), '{}', '(9999,)') ${active}`,
  release: `SELECT hubline.release_events(owner, ARRAY[seq], 0) ${active}`,
  readEnd: `SELECT hubline.read_end('shop', 'run', id) ${run}`,
  watchRun: `SELECT hubline.watch_run('shop', 'run', id, 'x', 'watcher') ${run}`,
  unwatchRun: `SELECT hubline.unwatch_run(seq, 'x', 'watcher', '(9999,)') ${run}`,
  keepers: `SELECT hubline.keepers(id) ${active}`,
  erase: `SELECT hubline.erase(request_id) ${run}`,
  decide: `SELECT hubline.decide(seq, token, 0, 0, 'w', 'taken', '1') ${run}`,
  takeEnds: `SELECT hubline.take_ends(ARRAY[seq], 'watcher', '(9999,)') ${run}`,
  receive: "SELECT hubline.receive('0') FROM hubline.member_types",
  leave: 'SELECT hubline.leave(member, 0, 0) FROM hubline.member_types',
  foldCounts: 'SELECT hubline.fold_counts() FROM hubline.member_types',
};

// They look at each type that the process handles.
const perProcess = ['heartbeat', 'leave'] as const;

test('calls that each event takes read no more beside thousands of ready events, of waits and of types', async () => {
  const perKey = { concurrency: 1 };
  const retain = { completed: 300, failed: 300, ageMs: 1e9 };
  const subscriptions = ['a', 'b', { type: 'slots', concurrency: 1 }, { type: 'keys', perKey }];
  const shop = await consume([...subscriptions, { type: 'run', retainsRuns: true, retain }], { concurrency: 20 });
  const web = connect('web');
  await web.publish([envelope('run'), envelope('run'), envelope('a')]);
  await until(() => shop.waiting.length === 3);
  // Its plans are those of nearly empty tables.
  const client = await admin.connect();
  const { rows: queues } = await client.query('SELECT id FROM hubline.queues');
  const ids = queues.map(({ id }) => String(id)).join();
  const entriesRead = async (): Promise<number> => {
    const { rows } = await client.query(`SELECT sum(pg_stat_get_xact_tuples_returned(oid))::int AS n FROM pg_class
      WHERE relnamespace = 'hubline'::regnamespace AND relkind IN ('r', 'i')`);
    return Number(rows[0]?.n);
  };
  const readBy = async (call: string): Promise<number> => {
    await client.query('BEGIN');
    const before = await entriesRead();
    const { rows } = await client.query(
      call.replace('QUEUES', ids).replace(/ FROM hubline.\w+(?: WHERE.*)?$/s, (from) => `${from} LIMIT 1`),
    );
    expect(rows, call).toHaveLength(1);
    const found = (await entriesRead()) - before;
    await client.query('ROLLBACK');
    return found;
  };
  for (const call of Object.values(calls)) await readBy(call);
  const [backlog, deadLetters] = [5_000, 300];
  await client.query(`INSERT INTO hubline.queues (service, type, is_subscribed, was_handled)
    SELECT 'shop', 'other ' || n, true, true FROM generate_series(1, ${backlog}) n`);
  await client.query(`INSERT INTO hubline.member_types SELECT min(m.member), q.id, '{}' FROM hubline.queues q, hubline.member_types m
    WHERE q.type LIKE 'other %' GROUP BY q.id`);
  const looks = new Map<string, number>();
  for (const name of perProcess) looks.set(name, await readBy(calls[name]));
  await client.query(`INSERT INTO hubline.events (queue, priority, accepted_at, is_run, id, request_id, key, depth, delay_ms,
      replays, state)
    SELECT q.id, 0, 0, q.type = 'run', q.type || n, 'r', CASE WHEN q.type = 'keys' THEN 'key ' || n % 100 END, 0, 0, 0,
      CASE WHEN q.type = 'run' THEN 's' ELSE 'r' END::"char"
    FROM hubline.queues q, generate_series(1, ${backlog}) n WHERE q.type NOT LIKE 'other %'`);
  await client.query(`INSERT INTO hubline.waits (seq, key, queue, since, event_type, due_at)
    SELECT seq, 'w', queue, 0, 'go', 9999999999999 FROM hubline.events WHERE state = 's'`);
  await client.query(
    "INSERT INTO hubline.entries SELECT seq, 1, 0, 'step 0', '1' FROM hubline.events WHERE state = 's'",
  );
  await client.query(`INSERT INTO hubline.ended (seq, queue, id, request_id, status, accepted_at, ended_at, is_recent, is_run,
      is_dead, event, body)
    SELECT 100000 + q.id * ${backlog} + n, q.id, CASE q.type WHEN 'a' THEN 'dead ' ELSE q.type END || n, 'r' || q.id || n, 'f', 0, 0,
      false, false, true, json_build_object('seq', 100000 + q.id * ${backlog} + n, 'queue', q.id, 'priority', 0, 'is_run', false,
        'id', 'dead ' || n, 'request_id', 'r', 'depth', 0, 'delay_ms', 0, 'replays', 0, 'entries', 0, 'needs', 0,
        'skips', false, 'is_admitted', false), '{}'
    FROM hubline.queues q, generate_series(1, ${deadLetters}) n WHERE q.type NOT LIKE 'other %'`);
  try {
    for (const statistics of ['of empty tables', 'of full tables']) {
      if (statistics === 'of full tables')
        await client.query(
          'ANALYZE hubline.events, hubline.waits, hubline.queues, hubline.member_types, hubline.entries, hubline.ended',
        );
      const found: Record<string, number> = {};
      for (const [name, call] of Object.entries(calls)) found[name] = await readBy(call);
      const above = Object.entries(found).filter(([name, read]) => read - (looks.get(name) ?? 0) >= backlog / 2);
      expect(above, `calls that read too much with statistics ${statistics}`).toEqual([]);
    }
  } finally {
    client.release();
  }
});
