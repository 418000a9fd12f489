import { chownSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reservePort } from './listen-locally.js';
import { acceptsSessions } from './postgres-server.js';
import { ensureProgram, ServerProcess, unprivileged } from './server-process.js';

/** PgBouncer for tests, in its own process. */
export interface PgBouncer {
  readonly url: string;
  /** Ends PgBouncer and removes its files. */
  release(): Promise<void>;
}

/**
 * Finds PgBouncer: on the PATH, then in Debian's place; or installs it with the system's package manager.
 *
 * @param env environment variables; `HUBLINE_NO_INSTALL=1` forbids the installation
 * @throws {Error} if there is none and none can or may be installed
 */
export function ensurePgBouncer(env: NodeJS.ProcessEnv = process.env): string {
  return ensureProgram(
    {
      name: 'pgbouncer',
      candidates: ['pgbouncer', '/usr/sbin/pgbouncer'],
      packages: { apt: 'pgbouncer', brew: 'pgbouncer' },
      missing: 'no pgbouncer found: install it (Debian: apt-get install pgbouncer; macOS: brew install pgbouncer)',
    },
    env,
  );
}

/**
 * Starts PgBouncer on a free port, in front of a Postgres server.
 *
 * @param postgresUrl address of the server
 * @param poolMode unit for which a client has a session of the server
 */
export async function startPgBouncer(postgresUrl: string, poolMode: 'session' | 'transaction'): Promise<PgBouncer> {
  const command = ensurePgBouncer();
  const { hostname, port: serverPort, username, password, pathname } = new URL(postgresUrl);
  const folder = await mkdtemp(join(tmpdir(), 'hubline-pgbouncer-'));
  const { port, release: releasePort } = await reservePort();
  const database = pathname.slice(1);
  const server = {
    ...{ host: hostname, port: serverPort || '5432', dbname: database, user: decodeURIComponent(username) },
    ...(password && { password: decodeURIComponent(password) }),
  };
  const settings = {
    ...{ listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', auth_type: 'any' },
    ...{ pool_mode: poolMode, max_client_conn: 500, default_pool_size: 40 },
  };
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    ['[databases]', `${database} = ${fieldsOf(server).join(' ')}`, '[pgbouncer]', ...fieldsOf(settings), ''].join('\n'),
  );
  if (unprivileged !== undefined) {
    for (const path of [folder, file]) chownSync(path, unprivileged.uid, unprivileged.gid);
  }
  const url = `postgres://${username}@127.0.0.1:${port}/${database}`;
  const bouncer = new ServerProcess({
    command: [command, '--quiet', file],
    lastSignal: 'KILL',
    user: unprivileged,
    folder,
    answers: () => acceptsSessions(url),
    hasEnded: async () => !(await acceptsSessions(url)),
  });
  await bouncer.start();
  return {
    url,
    async release() {
      await bouncer.stop('SIGKILL');
      releasePort();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function fieldsOf(values: Readonly<Record<string, string | number>>): string[] {
  return Object.entries(values).map(([name, value]) => `${name}=${value}`);
}
