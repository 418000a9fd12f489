import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { createHub } from '../hub/create-hub.js';
import { loadDriver } from '../transports/sqlite/database/driver.js';
import { migrations } from '../transports/sqlite/database/schema.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import { buildCommandLine, type CommandLine } from './command-line.fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-binary-'));
const pathOf = (name: string): string => join(folder, name);
let commandLine: CommandLine;
let redis: RedisServer;
let silent: Server;
let silentPort: number;

beforeAll(async () => {
  [commandLine, redis] = await Promise.all([buildCommandLine(), startRedisServer()]);
  const admin = new Redis(redis.url);
  await admin.call('ACL', 'SETUSER', 'guest', 'on', '>guest-password', '~*', '&*', '+@connection', '+info');
  admin.disconnect();
  silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  silentPort = Object(silent.address()).port;
  await createFiles();
});
afterAll(async () => {
  silent.close();
  await redis.release();
  await commandLine.remove();
  rmSync(folder, { recursive: true });
});

/** Creates a file with two dead letters, and copies of it that cannot be used. */
async function createFiles(): Promise<void> {
  const file = pathOf('hub.db');
  const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
  hub.event({
    type: 'invoice.due',
    handler: () => {
      throw new Error('out of paper');
    },
  });
  await hub.start();
  await hub.emitMany('invoice.due', [1, 2]);
  await vi.waitFor(async () => expect(await hub.deadLetters('invoice.due')).toHaveLength(2));
  await hub.stop();
  for (const name of ['newer.db', 'older.db', 'truncated.db', 'replayed.db', 'shared.db'])
    copyFileSync(file, pathOf(name));
  const open = await loadDriver();
  for (const [name, version] of [
    ['newer.db', migrations.length + 1],
    ['older.db', migrations.length - 1],
  ] as const) {
    const database = open(pathOf(name));
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
  }
  truncateSync(pathOf('truncated.db'), 40_000);
  writeFileSync(pathOf('foreign.db'), 'this is no database, and long enough for the header of one'.repeat(10));
  writeFileSync(pathOf('empty.db'), '');
  const empty = createHub({ transport: sqliteTransport({ file: pathOf('unused.db') }) });
  await empty.start();
  await empty.stop();
}

const patiently = ['--timeout', '60'];
// On a busy machine the process that owns a file takes longer to answer than a user would wait.
const onFile = (name: string): string[] => ['--file', pathOf(name), ...patiently];
const onRedis = (user: string, host = `127.0.0.1:${redis.port}`): string[] => {
  return ['--redis', `redis://${user}@${host}`];
};
// Ends a failure that lasts as long as the time for an answer.
const inTime = ['--timeout', '3'];

/** Failures by name: arguments, exit code, standard error. */
const failures = (): [string, string[], code: number, stderr: RegExp][] => [
  ['no server', ['status', ...onRedis(':secret', '127.0.0.1:1'), ...inTime], 1, /^TransportUnavailableError: /],
  ['no host', ['status', ...onRedis(':secret', 'hubline.invalid'), ...inTime], 1, /^TransportUnavailableError: /],
  [
    'no answer',
    ['status', ...onRedis(':secret', `127.0.0.1:${silentPort}`), ...inTime],
    1,
    /^TransportUnavailableError: /,
  ],
  ['a wrong URL', ['status', '--redis', 'http://:secret@127.0.0.1'], 2, /^InvalidOptionError: url /],
  ['a wrong password', ['cancel', 'e-1', ...onRedis('guest:secret'), ...inTime], 1, /^TransportUnavailableError: /],
  ['no permission', ['events', ...onRedis('guest:guest-password'), ...patiently], 1, /^RedisPermissionError: .*NOPERM/],
  ['no file', ['watch', ...onFile('missing.db')], 3, /^There is no file /],
  ['a file of another program', ['status', ...onFile('foreign.db')], 1, /^CorruptFileError: /],
  ['an empty file', ['retire', 'shop', '--yes', ...onFile('empty.db')], 1, /^CorruptFileError: .*empty/],
  ['half a file', ['show', 'e-1', ...onFile('truncated.db')], 1, /^CorruptFileError: /],
  ['a newer file', ['dead-letters', ...onFile('newer.db')], 1, /^NewerFileError: .*hubline knows/],
  ['an older file', ['events', ...onFile('older.db')], 1, /^OlderFileError: .*start the process/],
  [
    'the word of another tool',
    ['retry', ...onFile('hub.db')],
    2,
    /^error: unknown command 'retry'\n\(Did you mean replay\?\)/,
  ],
  ['an unknown command', ['statsu', ...onFile('hub.db')], 2, /^error: unknown command 'statsu'.*\n.*status/],
  ['an unknown option', ['status', '--jsn', ...onFile('hub.db')], 2, /^error: unknown option '--jsn'.*\n.*--json/],
  ['no id', ['show', ...onFile('hub.db')], 2, /^error: missing required argument 'ids'/],
  ['an empty id', ['show', '', ...onFile('hub.db')], 2, /^error: argument 'ids' is empty/],
  ['an endless id', ['cancel', 'e'.repeat(10_000), ...onFile('hub.db')], 2, /^InvalidOptionError: id /],
  ['an unknown id', ['replay', 'e-1', ...onFile('hub.db')], 3, /^There is no dead letter e-1\.\n$/],
  ['an unknown type', ['events', 'invoice.deu', ...onFile('hub.db')], 3, /^UnknownEventError: .*"invoice\.due"/],
  ['no terminal to ask on', ['retire', 'mail', ...onFile('hub.db')], 2, /^Retire all types of mail\? Pass --yes /],
  ['a port that is in use', ['dashboard', '--port', `${silentPort}`, ...onFile('unused.db')], 1, /EADDRINUSE/],
];

it('ends with the reason', async () => {
  const ended = failures().map(async ([name, args, code, stderr]) => {
    const result = await commandLine.run(...args);
    expect(result.stderr).not.toMatch(/secret|guest-password|\n {4}at /);
    return [
      { name, ...result },
      { name, code, stdout: '', stderr: expect.stringMatching(stderr) },
    ];
  });
  const results = await Promise.all(ended);
  expect(results.map(([result]) => result)).toEqual(results.map(([, expected]) => expected));
});

describe('a confirmation on a terminal', () => {
  const replayAll = ['replay', '--type', 'invoice.due', ...onFile('hub.db')];

  it.each<[string, 'n\n' | 'SIGINT' | 'SIGTERM' | 'end']>([
    ['no', 'n\n'],
    ['the end of the input', 'end'],
    ['an interrupt', 'SIGINT'],
    ['a termination', 'SIGTERM'],
  ])('changes nothing after %s', async (_, answer) => {
    const { child, ended } = commandLine.start(replayAll, { isTerminal: true });
    await once(child.stderr ?? child, 'data');
    if (answer === 'SIGINT' || answer === 'SIGTERM') child.kill(answer);
    else child.stdin?.end(answer === 'end' ? '' : answer);
    const stderr = expect.stringMatching(
      /^Replay 2 dead letters of invoice\.due\? \[y\/N\] \s*Nothing was changed\.\n$/,
    );
    expect(await ended).toEqual({ code: 2, stdout: '', stderr });
  });

  it('replays after a yes', async () => {
    const replay = ['replay', '--type', 'invoice.due', ...onFile('replayed.db')];
    const { child, ended } = commandLine.start(replay, { isTerminal: true });
    child.stdin?.end('yes\n');
    expect(await ended).toMatchObject({ code: 0, stdout: 'Replayed 2 of 2.\n' });
    const asked = await commandLine.run(...replay);
    expect(asked).toEqual({ code: 3, stdout: '', stderr: 'There are no such dead letters.\n' });
  });

  it('replays the rest of what was found, and fails with the ids of the others', async () => {
    const replayShared = ['replay', '--type', 'invoice.due', '--json', ...onFile('shared.db')];
    const { child, ended } = commandLine.start(replayShared, { isTerminal: true });
    await once(child.stderr ?? child, 'data');
    const { stdout } = await commandLine.run('dead-letters', '--json', ...onFile('shared.db'));
    const [{ id }] = JSON.parse(stdout);
    expect(await commandLine.run('replay', id, ...onFile('shared.db'))).toMatchObject({ code: 0 });
    child.stdin?.end('yes\n');
    const { code, stdout: report, stderr } = await ended;
    const failure = expect.stringContaining(id);
    expect({ code, ...JSON.parse(report) }).toEqual({ code: 1, replayed: 1, failures: [failure] });
    expect(stderr.split('\n').at(-2)).toEqual(failure);
  });
});

describe('an output that nobody reads to its end', () => {
  it.each([
    ['events', 0],
    ['events --json', 0],
    ['status', 4],
    ['watch', 0],
    ['--help', 0],
  ])('is no failure of %s', async (command, code) => {
    const store = command.startsWith('-') ? [] : onFile('hub.db');
    const { ended } = commandLine.start([...command.split(' '), ...store], { isUnread: true });
    const { stderr, ...rest } = await ended;
    expect(rest).toEqual({ code, stdout: '' });
    expect(stderr).toBe(code === 4 ? 'The hub is failing.\n' : '');
  });
});

it.each<[string, () => string[]]>([
  ['a Redis', () => ['--redis', redis.url, '--prefix', randomUUID(), ...patiently]],
  ['a file', () => onFile('unused.db')],
])('serves the dashboard of %s on which nothing was registered', async (_, storeArgs) => {
  const { child, ended } = commandLine.start(['dashboard', '--port', '0', '--json', ...storeArgs()]);
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  const page = await fetch(url);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<title>')]);
  const body: unknown = await (await fetch(`${url}api/introspection`)).json();
  expect(body).toMatchObject({ health: { status: 'ok' }, events: [], workflows: [], agents: [], schedules: [] });
  for (const query of ['events/order.placed', 'events/order.placed?id=e-1', 'introspection?request=checkout-17']) {
    expect((await fetch(`${url}api/${query}`)).status).toBe(404);
  }
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});

it.each(['127.0.0.2', 'LOCALHOST'])('answers loopback names alone on %s', async (host) => {
  const { child, ended } = commandLine.start([
    'dashboard',
    '--port',
    '0',
    '--host',
    host,
    '--json',
    ...onFile('unused.db'),
  ]);
  const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const { url } = JSON.parse(line.toString()) as { url: string };
  expect((await fetch(url)).status).toBe(200);
  const rebound = request(url, { headers: { host: 'rebound.example.net' } }).end();
  const [response] = await once(rebound, 'response');
  response.resume();
  expect(response.statusCode).toBe(403);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
});
