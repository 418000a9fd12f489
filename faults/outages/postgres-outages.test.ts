import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startFleet } from '../workers/fleet.js';
import { isLong, type Scene, until } from '../workers/scene.js';
import { emitAll, events, expectExact } from './exact-work.js';
import {
  adminOf,
  emitPatiently,
  type PostgresStage,
  setPostgresStage,
  setReplicatedStage,
  tablesOf,
} from './postgres-stage.js';

const reconnect = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()`;
/** States of a full disk, a serialization failure, a deadlock, a lock and a statement that took too long. */
const states = ['53100', '40001', '40P01', '55P03', '57014'];

/** Disturbances while events are emitted and handled. The short form has the first two. */
const disturbances: readonly (readonly [string, (stage: PostgresStage) => Promise<void>])[] = [
  [
    'crashes and restarts of the server',
    async ({ server }) => {
      for (const signal of ['SIGQUIT', 'SIGINT'] as const) {
        await delay(300);
        await server.stop(signal);
        await delay(200);
        await server.start();
      }
    },
  ],
  [
    'statements that fail at any table, for want of space, of a lock, of time or of order',
    async (stage) => {
      const { admin, scene } = stage;
      const refuse = `${scene.schema}.refuse`;
      await admin(`CREATE FUNCTION ${refuse}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF random() < 0.02 THEN
            RAISE EXCEPTION 'refused' USING ERRCODE = ('{${states.join(',')}}'::text[])[1 + floor(random() * ${states.length})];
          END IF;
          RETURN NULL;
        END $$`);
      const tables = await tablesOf(stage);
      for (const table of tables) {
        await admin(
          `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${refuse}()`,
        );
      }
      await until('most events have ended', async () => (await settled(scene)) > events / 2);
      for (const table of tables) await admin(`DROP TRIGGER refuse ON ${table}`);
    },
  ],
  [
    'locks of another client on each table, with short limits of the server',
    async (stage) => {
      const { admin } = stage;
      const limits = { statement_timeout: 500, lock_timeout: 100, idle_in_transaction_session_timeout: 500 };
      for (const [name, ms] of Object.entries(limits)) await admin(`ALTER ROLE postgres SET ${name} = ${ms}`);
      await admin(reconnect);
      for (const table of await tablesOf(stage)) {
        await admin(`SET lock_timeout = 0; SET statement_timeout = 0; BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE;
          SELECT pg_sleep(0.15); COMMIT`);
      }
    },
  ],
  [
    'connections that end at any statement',
    async ({ admin, scene }) => {
      for (let round = 0; round < 10 || (await settled(scene)) < events / 2; round += 1) {
        await admin(reconnect);
        await delay(Math.random() * 400);
      }
    },
  ],
];

/** Number of events that have ended by the ledger. */
async function settled({ ledger }: Scene): Promise<number> {
  return new Set(ledger().flatMap(({ what, key }) => (what.startsWith('settled') ? [key] : []))).size;
}

it.each(isLong ? disturbances : disturbances.slice(0, 2))(
  'no event is lost or ends twice beside %s',
  async (_, disturb) => {
    const stage = await setPostgresStage();
    const { scene } = stage;
    const fleet = await startFleet(2, scene.workers('work'));
    onTestFinished(() => fleet.stop());
    const emitting = emitAll(scene.hub, (n) => emitPatiently(scene.hub, n));
    await disturb(stage);
    await expectExact(scene, await emitting);
  },
);

it('beside a failover to a replica that is behind, what Postgres has ends, and is counted exactly', async () => {
  const { scene, server, replica, admin, failOver } = await setReplicatedStage(false);
  const { hub } = scene;
  const fleet = await startFleet(2, scene.workers('work'));
  onTestFinished(() => fleet.stop());
  const emit = (from: number, to: number): Promise<unknown> =>
    Promise.all(Array.from({ length: to - from }, (_, index) => emitPatiently(hub, from + index)));
  await emit(1, 101);
  const replayed = `pg_wal_lsn_diff(sent_lsn, replay_lsn) = 0 AND pg_current_wal_lsn() = sent_lsn`;
  await until('the replica has everything', async () => {
    const [row] = await admin(`SELECT ${replayed} AS is_equal FROM pg_stat_replication`);
    return row?.['is_equal'] === true;
  });
  await adminOf(replica)(`ALTER SYSTEM SET primary_conninfo = ''`);
  await adminOf(replica)('SELECT pg_reload_conf()');
  await until('the replica follows no more', async () => (await admin('SELECT FROM pg_stat_replication')).length === 0);
  await emit(101, 201);
  expect((await hub.metrics('work')).received).toBe(200);
  await failOver();
  await emit(201, 301);
  await until('everything is settled', async () => {
    const [work, after] = [await hub.metrics('work'), await hub.metrics('settled')];
    return work.received >= 200 && work.pending === 0 && after.pending === 0;
  });
  const work = await hub.metrics('work');
  expect(work.received).toBeLessThan(300);
  expect(work).toMatchObject({ completed: work.received - work.failed, active: 0 });
  expect(await hub.metrics('settled')).toMatchObject({ received: work.received, completed: work.received, active: 0 });
  const endings = new Set(scene.ledger().flatMap(({ what, key }) => (what.startsWith('settled') ? [Number(key)] : [])));
  for (let n = 1; n <= 100; n += 1) expect([n, endings.has(n)]).toEqual([n, true]);
  for (let n = 201; n <= 300; n += 1) expect([n, endings.has(n)]).toEqual([n, true]);
  await server.stop('SIGQUIT');
});
