import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import { buildCommandLine, type CommandLine, type CommandResult } from './command-line.fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-stores-'));
let commandLine: CommandLine;
let redis: RedisServer;
beforeAll(async () => {
  [commandLine, redis] = await Promise.all([buildCommandLine(), startRedisServer()]);
});
afterAll(async () => {
  await redis.release();
  await commandLine.remove();
  rmSync(folder, { recursive: true });
});

const hubline = (...args: string[]): Promise<CommandResult> => commandLine.run(...args);

it('reads and changes a file that no process owns, for the next one', async () => {
  const file = join(folder, 'stopped.db');
  let isUp = false;
  const open = async (): Promise<Hub> => {
    const hub = createHub({ service: 'shop', transport: sqliteTransport({ file }) });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    hub.event({
      type: 'invoice.due',
      handler: () => {
        if (!isUp) throw new Error('out of paper');
      },
    });
    hub.event({ type: 'later', handler: () => {} });
    await hub.start();
    return hub;
  };
  const first = await open();
  const { id } = await first.emit('invoice.due', { card: 'private 4711' }, { requestId: 'checkout 17' });
  const waiting = await first.emit('later', null, { delayMs: 600_000 });
  await vi.waitFor(async () => expect(await first.deadLetters('invoice.due')).toHaveLength(1), 20_000);
  await first.stop();

  const onFile = (...args: string[]): Promise<CommandResult> => hubline(...args, '--file', file);
  const status = await onFile('status');
  expect(status).toMatchObject({ code: 4, stdout: expect.stringMatching(/^- error no-process later, 1 pending/m) });
  expect((await onFile('events')).stdout).toMatch(/^invoice\.due +1 +1 +0 +1 /m);
  expect((await onFile('events', 'invoice.due')).stdout).toContain(id);
  expect((await onFile('show', id)).stdout).toMatch(/^invoice\.due failed .*out of paper/);
  expect((await onFile('show', id, '--payload')).stdout).toContain('private 4711');
  expect((await onFile('request', 'checkout 17')).stdout).toContain(id);
  expect((await onFile('dead-letters', '--json')).stdout).toContain(id);
  expect((await onFile('watch', '--frames', '1')).stdout).toMatch(/^later +1 /m);
  expect(await onFile('cancel', waiting.id)).toMatchObject({ code: 0 });
  expect(await onFile('replay', id)).toMatchObject({ code: 0, stdout: 'Replayed 1 of 1.\n' });
  expect((await onFile('show', id)).stdout).toMatch(/^invoice\.due waiting/);
  const refused = await onFile('retire', 'shop', '--yes');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('PendingEventsError') });

  isUp = true;
  const second = await open();
  await vi.waitFor(async () => expect(await second.find(id)).toMatchObject([{ status: 'completed' }]), 20_000);
  expect(await second.find(waiting.id)).toMatchObject([{ status: 'cancelled' }]);
  await second.stop();
  expect(await onFile('retire', 'shop', '--yes')).toMatchObject({ code: 0 });
});

it('ends with the reason if the file cannot be used', async () => {
  const foreign = join(folder, 'foreign.db');
  writeFileSync(foreign, 'not a database');
  const denied = join(folder, 'denied.db');
  writeFileSync(denied, '');
  chmodSync(denied, 0o000);
  const cases: [string, number, string][] = [
    [join(folder, 'missing.db'), 3, 'There is no file '],
    [join(folder, 'missing/hub.db'), 3, 'There is no file '],
    [foreign, 1, 'CorruptFileError: '],
    // Permissions do not bind root.
    [process.getuid?.() === 0 ? folder : denied, 1, 'FileAccessError: '],
  ];
  for (const [file, code, message] of cases) {
    const commands = [['status'], ['replay', 'unknown'], ['retire', 'mail', '--yes'], ['dashboard', '--port', '0']];
    for (const result of await Promise.all(commands.map((args) => hubline(...args, '--file', file)))) {
      expect(result).toEqual({ code, stdout: '', stderr: expect.stringMatching(`^${message}`) });
    }
  }
});

it('says so if nothing is there', async () => {
  const elsewhere = ['--redis', redis.url, '--prefix', randomUUID(), '--timeout', '60'];
  const status = await hubline('status', ...elsewhere);
  expect(status).toMatchObject({ code: 3, stderr: expect.stringContaining('--prefix') });
  expect(await hubline('dead-letters', ...elsewhere)).toMatchObject({ code: 0, stdout: '' });
  const file = join(folder, 'empty.db');
  const hub = createHub({ transport: sqliteTransport({ file }) });
  await hub.start();
  await hub.stop();
  expect(await hubline('status', '--file', file)).toMatchObject({ code: 3, stderr: expect.stringContaining('--file') });
  expect(await hubline('events', '--file', file)).toMatchObject({ code: 0, stdout: '' });
});

it('ends with the reason if Redis cannot be used, and never shows a password', async () => {
  const closed = await hubline('status', '--redis', 'redis://:secret@127.0.0.1:1', '--timeout', '1');
  expect(closed).toMatchObject({ code: 1, stdout: '' });
  expect(closed.stderr).toMatch(/^TransportUnavailableError: /);
  expect(closed.stderr).not.toContain('secret');
  expect(await hubline('status', '--redis', 'http://127.0.0.1')).toMatchObject({ code: 1 });
  const admin = new Redis(redis.url);
  await admin.call('ACL', 'SETUSER', 'guest', 'on', '>guest-password', '~*', '&*', '+@connection');
  admin.disconnect();
  const url = `redis://guest:guest-password@127.0.0.1:${redis.port}`;
  const guest = await hubline('status', '--redis', url, '--timeout', '60');
  expect(guest).toMatchObject({ code: 1, stderr: expect.stringContaining('RedisPermissionError') });
  expect(guest.stderr).not.toContain('guest-password');
});

it('explains its commands, and refuses wrong arguments', async () => {
  const help = await hubline('--help');
  expect(help).toMatchObject({ code: 0, stderr: '' });
  const commands = help.stdout.match(/^ {2}[a-z-]+(?= .*(\[options\]))/gm)?.map((name) => name.trim()) ?? [];
  expect(commands).toEqual([
    'dashboard',
    'status',
    'events',
    'show',
    'request',
    'dead-letters',
    'replay',
    'cancel',
    'approve',
    'refuse',
    'retire',
    'watch',
  ]);
  const helps = await Promise.all(
    commands.map(async (command) => ({ command, ...(await hubline(command, '--help')) })),
  );
  for (const { command, code, stdout } of helps) {
    expect([command, code]).toEqual([command, 0]);
    expect(stdout).toMatch(new RegExp(`--file <path>[^]*--json[^]*\nExamples:\n  hubline ${command}`));
  }
  const refused = [
    ['show'],
    ['unknown'],
    ['status', '--jsn'],
    ['status', '--file', 'hub.db', '--redis', 'redis://127.0.0.1'],
    ['status', '--timeout', '0'],
    ['replay', '--type', 'a', '--since', 'soon'],
  ];
  for (const result of await Promise.all(refused.map((args) => hubline(...args)))) {
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('error:') });
  }
});
