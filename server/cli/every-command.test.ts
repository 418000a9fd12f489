import { randomUUID } from 'node:crypto';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type PostgresServer, startPostgresServer } from '../../scripts/postgres-server.js';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { createHub } from '../hub/create-hub.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { postgresTransport } from '../transports/postgres/postgres-transport.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import type { CommandResult } from './command-line.fixture.js';
import { createProgram, runCommandLine } from './command-line.js';
import { createStreams, runInProcess } from './in-process.fixture.js';
import { unprivileged } from './unprivileged.fixture.js';

/** Arguments of each command, and its end on a store without hubs: code, and text on the standard error. */
const commands: readonly (readonly [args: readonly string[], code: number, stderr: string])[] = [
  // First, because the others act on the same tables of Postgres.
  [['audit'], 0, 'Nobody has acted yet.'],
  [['status'], 3, 'No process has registered a type here. Start one, or check '],
  [['events'], 0, ''],
  [['events', 'order.placed'], 3, 'UnknownEventError: '],
  [['show', 'e-1'], 3, 'No event or run with the id e-1'],
  [['why', 'e-1'], 3, 'no event or run "e-1" is pending or retained'],
  [['export', '--open'], 3, 'No process has registered a workflow here.'],
  [['request', 'checkout-17'], 3, 'checkout-17'],
  [['search', '--tag', 'customer-17'], 3, 'No event or run with the tag customer-17 is retained.'],
  [['search', '--key', 'c-17', '--status', 'failed'], 3, 'No event or run with the key c-17 is retained.'],
  [['errors'], 0, 'Nothing failed.'],
  [['dead-letters'], 0, 'No process has registered a type here. Pass the type'],
  [['dead-letters', 'order.placed', '--payload'], 3, 'UnknownEventError: '],
  [['replay', 'e-1'], 3, 'There is no dead letter e-1.'],
  [['replay', '--type', 'order.placed', '--yes'], 3, 'UnknownEventError: '],
  [['replay', '--error', '3f9a01b2c4d5', '--yes'], 3, 'There is no error group 3f9a01b2c4d5.'],
  [['cancel', 'e-1'], 3, 'e-1 is unknown'],
  [['fork', 'e-1', '--from', 'ship'], 3, 'No run with the id e-1 is retained.'],
  [['pause', '--type', 'order.placed', '--reason', 'r'], 3, 'UnknownTargetError: '],
  [['resume', '--service', 'mail'], 3, 'service mail is not paused.'],
  [['approve', 'e-1'], 3, 'e-1 waits for no approval'],
  [['refuse', 'e-1', '--reason', 'too much'], 3, 'e-1 waits for no approval'],
  [['retire', 'mail', '--yes'], 3, 'NotSubscribedError: '],
  [['watch', '--frames', '1'], 0, ''],
];

// It ends by itself if it cannot start alone.
const dashboard = ['dashboard', '--port', '0'];

const folder = mkdtempSync(join(tmpdir(), 'hubline-every-command-'));
let redis: RedisServer;
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgresServer();
  chmodSync(folder, 0o755);
  redis = await startRedisServer();
  const admin = new Redis(redis.url);
  await admin.call('ACL', 'SETUSER', 'guest', 'on', '>guest-password', '~*', '&*', '+@connection', '+info');
  admin.disconnect();
});
afterAll(async () => {
  await redis.release();
  await postgres.release();
  rmSync(folder, { recursive: true });
});

async function createEmptyFile(file: string): Promise<void> {
  const hub = createHub({ transport: sqliteTransport({ file }) });
  await hub.start();
  await hub.stop();
}

/** Creates the tables, of which all tests need one set alone. */
async function createEmptySchema(): Promise<string> {
  const schema = 'empty';
  const hub = createHub({ transport: postgresTransport({ connectionString: postgres.url, schema }) });
  await hub.start();
  await hub.stop();
  return schema;
}

/** Runs every command on a store that cannot be used. */
async function runAll(storeArgs: readonly string[]): Promise<CommandResult[]> {
  const results: CommandResult[] = [];
  const all = [...commands.map(([args]) => args), dashboard];
  // Each command that runs listens to the signals of the process.
  for (let from = 0; from < all.length; from += 8) {
    const some = all.slice(from, from + 8);
    results.push(...(await Promise.all(some.map((args) => runInProcess([...args, ...storeArgs])))));
  }
  return results;
}

it('reports an output that cannot be written', async () => {
  const { streams, err } = createStreams({ isTTY: false });
  streams.stdout.destroy(Object.assign(new Error('full'), { code: 'ENOSPC' }));
  expect(await runCommandLine(['--help'], streams)).toBe(1);
  expect(err()).toBe('The output cannot be written: ENOSPC\n');
});

it('has a row for each command', () => {
  const names = createProgram(async () => {}).commands.map((command) => command.name());
  expect(new Set([...commands.map(([args]) => args[0]), 'dashboard', 'demo', 'mcp', 'migrate'])).toEqual(
    new Set(names),
  );
});

it('explains its commands, and refuses wrong arguments', async () => {
  const help = await runInProcess(['--help']);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  const commands = help.stdout.match(/^ {2}[a-z-]+(?= .*(\[options\]))/gm)?.map((name) => name.trim()) ?? [];
  expect(commands).toEqual([
    'dashboard',
    'status',
    'events',
    'show',
    'why',
    'export',
    'request',
    'search',
    'errors',
    'dead-letters',
    'replay',
    'cancel',
    'fork',
    'pause',
    'resume',
    'approve',
    'refuse',
    'retire',
    'audit',
    'mcp',
    'migrate',
    'watch',
  ]);
  const helps = await Promise.all(
    commands.map(async (command) => ({ command, ...(await runInProcess([command, '--help'])) })),
  );
  for (const { command, code, stdout } of helps) {
    expect([command, code]).toEqual([command, 0]);
    const store = command === 'migrate' ? '--postgres <url>' : '--file <path>';
    expect(stdout).toMatch(new RegExp(`${store}[^]*--json[^]*\nExamples:\n  hubline ${command}`));
  }
  const refused = [
    ['show'],
    ['unknown'],
    ['status', '--jsn'],
    ['status', '--file', 'hub.db', '--redis', 'redis://127.0.0.1'],
    ['status', '--postgres', 'postgres://127.0.0.1', '--file', 'hub.db'],
    ['status', '--timeout', '0'],
    ['status', '--timeout', '1e99'],
    ['watch', '--interval', '2147484'],
    ['replay', '--type', 'a', '--since', 'soon'],
    ['replay', 'e-1', '--since', '2h'],
    ['replay', 'e-1', '--limit', '5'],
    ['replay', 'e-1', '--request', 'r-1'],
    ['search'],
    ['fork', 'e-1'],
    ['search', '--tag', 'a', '--key', 'b'],
    ['search', '--tag', 'a', '--status', 'broken'],
    ['pause', '--type', 'a'],
    ['pause', '--reason', 'r'],
    ['resume', '--type', 'a', '--service', 'b'],
    ['dashboard', '--port', ''],
    ['dashboard', '--port', '0x50'],
  ];
  for (const result of await Promise.all(refused.map(runInProcess))) {
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('error:') });
  }
});

it('refuses an empty text as any argument and any option', async () => {
  const empty = createProgram(async () => {}).commands.flatMap((command) => {
    const args = command.registeredArguments.map(() => 'a');
    const mandatory = command.options.filter((option) => option.mandatory);
    const needed = mandatory.map(({ long, required }) => (required ? `${long}=a` : `${long}`));
    const withEmpty = args.map((_, index) => [command.name(), ...needed, ...args.with(index, '')]);
    const options = command.options.filter(({ required }) => required);
    return [...withEmpty, ...options.map(({ long }) => [command.name(), ...needed, ...args, `${long}=`])];
  });
  const results = await Promise.all(empty.map(async (args) => ({ args, ...(await runInProcess(args)) })));
  const stderr = expect.stringMatching(
    /^error: (option '--.*' (is empty|argument '' is invalid)|argument '.*' is empty)/,
  );
  expect(results).toEqual(empty.map((args) => ({ args, code: 2, stdout: '', stderr })));
  expect(results.length).toBeGreaterThan(40);
});

describe.each<[string, () => Promise<string[]>]>([
  ['a Redis', async () => ['--redis', redis.url, '--prefix', randomUUID()]],
  ['a Postgres', async () => ['--postgres', postgres.url, '--schema', await createEmptySchema()]],
  [
    'a file',
    async () => {
      const file = join(folder, `${randomUUID()}.db`);
      await createEmptyFile(file);
      return ['--file', file];
    },
  ],
])('on %s on which nothing was registered', (_, open) => {
  it.each(commands)('%j ends with %i', async (args, code, stderr) => {
    const result = await runInProcess([...args, ...(await open()), '--timeout', '60']);
    expect(result).toMatchObject({ code, stderr: expect.stringContaining(stderr) });
    const asJson = await runInProcess([...args, '--json', ...(await open()), '--timeout', '60']);
    expect(asJson.code).toBe(code);
    if (code === 0) expect(asJson.stdout).toMatch(/^[[{]/);
  });
});

it('shows what stopped processes left on a Redis', async () => {
  const prefix = randomUUID();
  const hub = createHub({
    service: 'shop',
    transport: redisTransport({ url: redis.url, prefix, emitTimeoutMs: 60_000 }),
  });
  hub.event({ type: 'order.placed', handler: () => Promise.reject(new Error('sold out')) });
  hub.event({ type: 'report.due' });
  hub.schedule({ name: 'nightly', cron: '0 2 * * *', emit: 'report.due', payload: null });
  hub.workflow(createWorkflow({ name: 'fulfil', run: ({ step }) => step.sleep('a day', 86_400_000) }));
  await hub.start();
  await hub.emit('order.placed', null);
  await hub.startWorkflow('fulfil', null);
  await vi.waitFor(async () => expect(await hub.deadLetters('order.placed')).toHaveLength(1));
  await vi.waitFor(async () => expect(await hub.waits()).toMatchObject({ suspended: 1 }));
  const { kv, clock } = hub.transport;
  const lost = { id: 'gone', service: 'shop', host: 'worker-7', pid: 4_711, startedAt: 0, active: 3 };
  await kv.set('hubline:processes', JSON.stringify({ processes: [{ ...lost, seenAt: clock.now() - 60_000 }] }));
  await hub.stop();
  const onRedis = (...args: string[]) =>
    runInProcess([...args, '--redis', redis.url, '--prefix', prefix, '--timeout', '60']);
  expect(await onRedis('dead-letters')).toMatchObject({ code: 0, stdout: expect.stringContaining('sold out') });
  const status = await onRedis('status');
  expect(status).toMatchObject({ code: 4, stdout: expect.stringContaining('0 processes with handlers') });
  expect(status.stdout).toContain('- error failing order.placed, 1 of 1 failed');
  expect(status.stdout).toContain('- error no-process fulfil, no process of shop handles it, 1 pending');
  expect(status.stdout).toContain('- warning lost-process shop, 1 process, 3 running events released, last ');
  expect(status.stdout).toContain('- warning overdue-schedule nightly');
  expect((await onRedis('events')).stdout).toMatch(/^order\.placed +1 +1 +0 +1 /m);
  expect((await onRedis('events', 'order.placed')).stdout).toContain('Error: sold out');
  expect((await onRedis('watch', '--frames', '1')).stdout).toContain('fulfil (workflow)');
});

describe.each<[string, () => string[], number, string]>([
  ['no Redis', () => ['--redis', 'redis://:secret@127.0.0.1:1', '--timeout', '1'], 1, 'TransportUnavailableError: '],
  ['an URL of something else', () => ['--redis', 'http://:secret@127.0.0.1'], 2, 'InvalidOptionError: '],
  [
    'a wrong password',
    () => ['--redis', `redis://guest:secret@127.0.0.1:${redis.port}`, '--timeout', '3'],
    1,
    'TransportUnavailableError: .*WRONGPASS',
  ],
  [
    'a user without permissions',
    () => ['--redis', `redis://guest:guest-password@127.0.0.1:${redis.port}`, '--timeout', '60'],
    1,
    'RedisPermissionError: ',
  ],
  ['no file', () => ['--file', join(folder, 'missing.db')], 3, 'There is no file '],
  ['no folder', () => ['--file', join(folder, 'missing/hub.db')], 3, 'There is no file '],
  [
    'a file of another program',
    () => {
      const file = join(folder, 'foreign.db');
      writeFileSync(file, 'not a database');
      return ['--file', file];
    },
    1,
    'CorruptFileError: ',
  ],
  ['a folder in place of a file', () => ['--file', folder], 1, 'FileAccessError: '],
])('with %s', (_, storeArgs, code, stderr) => {
  it('every command ends with the reason', async () => {
    const results = await runAll(storeArgs());
    expect(results).toEqual(results.map(() => ({ code, stdout: '', stderr: expect.stringMatching(`^${stderr}`) })));
    expect(JSON.stringify(results)).not.toMatch(/secret|guest-password/);
  });
});

it.each([
  ['reading a file', 0o000, 0o755],
  ['entering the folder of a file', 0o644, 0o000],
  ['writing to a file and its folder', 0o444, 0o555],
])('without the permission for %s, every command ends with the reason', async (_, fileMode, folderMode) => {
  const closed = mkdtempSync(join(folder, 'closed-'));
  const file = join(closed, 'hub.db');
  const original = join(folder, `${randomUUID()}.db`);
  await createEmptyFile(original);
  // This process keeps the log of the original open, which a reader could use.
  copyFileSync(original, file);
  chmodSync(file, fileMode);
  chmodSync(closed, folderMode);
  try {
    const results = await unprivileged(() => runAll(['--file', file]));
    const stderr = expect.stringMatching(/^FileAccessError: /);
    expect(results).toEqual(results.map(() => ({ code: 1, stdout: '', stderr })));
  } finally {
    chmodSync(closed, 0o755);
  }
});
