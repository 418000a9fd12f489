import { setTimeout as delay } from 'node:timers/promises';
import type { Hub } from 'hubline';
import { Client } from 'pg';
import { type OwnPostgresServer, startOwnPostgresServer } from '../../scripts/postgres-server.js';
import { startSwitchingProxy } from '../../server/transports/redis/connection/switching-proxy.fixture.js';
import { openPostgresScene, type PostgresScene, until } from '../workers/scene.js';

const types: readonly string[] = ['work', 'settled'];

/** Emits an event until it is accepted: its deduplication id makes it safe to repeat. */
export async function emitPatiently(hub: Hub, n: number): Promise<void> {
  for (let isAccepted = false; !isAccepted; ) {
    isAccepted = await hub.emit('work', { n }, { dedupeId: String(n) }).then(
      () => true,
      () => delay(20, false),
    );
  }
}

/** Scene of a test, its server, and a client that changes the server. */
export interface PostgresStage {
  readonly scene: PostgresScene;
  readonly server: OwnPostgresServer;
  admin(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Opens a scene on a server of its own. */
export async function setPostgresStage(settings: readonly string[] = []): Promise<PostgresStage> {
  const server = await startOwnPostgresServer({ settings });
  return { server, scene: await openPostgresScene(types, server.url, () => server.release()), admin: adminOf(server) };
}

/** Returns a function that runs statements in sessions of their own. */
export function adminOf({ url }: OwnPostgresServer): PostgresStage['admin'] {
  return async (text) => {
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows ?? [];
    } finally {
      await client.end();
    }
  };
}

/** Returns the names of the tables of a scene. */
export async function tablesOf({ scene: { schema }, admin }: PostgresStage): Promise<readonly string[]> {
  const rows = await admin(`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${schema}'`);
  return rows.map(({ name }) => `${schema}.${name}`);
}

/** Opens a scene behind an address that leads to a server until `failOver` promotes its replica. */
export async function setReplicatedStage(
  isSynchronous: boolean,
): Promise<PostgresStage & { readonly replica: OwnPostgresServer; failOver(): Promise<void> }> {
  const server = await startOwnPostgresServer();
  const replica = await server.replicate('replica');
  const admin = adminOf(server);
  const proxy = await startSwitchingProxy(server.port);
  if (isSynchronous) {
    await admin(`ALTER SYSTEM SET synchronous_standby_names = 'replica'`);
    await admin('SELECT pg_reload_conf()');
  }
  await until('the replica follows', async () => {
    const [row] = await admin('SELECT state, sync_state FROM pg_stat_replication');
    return row?.['state'] === 'streaming' && row['sync_state'] === (isSynchronous ? 'sync' : 'async');
  });
  const scene = await openPostgresScene(types, `postgres://postgres@127.0.0.1:${proxy.port}/postgres`, async () => {
    proxy.close();
    await replica.release();
    await server.release();
  });
  return {
    ...{ scene, server, admin, replica },
    async failOver() {
      await server.stop('SIGQUIT');
      await delay(200);
      await adminOf(replica)('SELECT pg_promote()');
      proxy.switchTo(replica.port);
    },
  };
}
