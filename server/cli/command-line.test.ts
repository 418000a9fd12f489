import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { createWorkflow } from '../hub/runs/definition/workflow.js';
import { redisTransport } from '../transports/redis/redis-transport.js';

const root = join(import.meta.dirname, '../..');

let folder: string;
let redis: RedisServer;
let prefix: string;
let hub: Hub;
let isPrinterUp = false;
const requestId = 'checkout 17';

/** Builds the binary as the package has it, below the dependencies of the repository. */
async function buildBinary(): Promise<string> {
  await mkdir(join(root, '.cache'), { recursive: true });
  const outDir = await mkdtemp(join(root, '.cache/command-line-'));
  await build({ configFile: join(root, 'server/vite.config.ts'), logLevel: 'silent', build: { outDir } });
  return outDir;
}

beforeAll(async () => {
  folder = await buildBinary();
  redis = await startRedisServer();
  prefix = randomUUID();
  hub = createHub({ service: 'shop', transport: redisTransport({ url: redis.url, prefix }) });
  hub.event({ type: 'order.placed', handler: ({ emit }) => emit('invoice.due', { card: 'private 4711' }) });
  hub.event({
    type: 'invoice.due',
    retry: { maxAttempts: 2, initialDelayMs: 0 },
    handler: () => {
      if (!isPrinterUp) throw new Error('out of\u001b[31m paper');
    },
  });
  hub.event({ type: 'tick', handler: () => {} });
  hub.event({ type: 'later', handler: () => {} });
  hub.workflow(
    createWorkflow({
      name: 'pack',
      run: async ({ step }) => {
        await step.run('fold', () => {
          throw new Error('torn box');
        });
      },
    }),
  );
  hub.workflow(createWorkflow({ name: 'rest', run: ({ step }) => step.sleep('long', 600_000) }));
  await hub.start();
}, 60_000);
afterAll(async () => {
  await hub.stop({ drainMs: 0 });
  await redis.release();
  await rm(folder, { recursive: true });
});

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<Result> } {
  const child = spawn(process.execPath, [join(folder, 'cli/main.js'), ...args], {
    env: { ...process.env, REDIS_URL: '' },
  });
  onTestFinished(() => void child.kill());
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  child.stdin.end();
  return { child, ended: once(child, 'close').then(([code]) => ({ code, stdout, stderr })) };
}

function hubline(...args: string[]): Promise<Result> {
  return start([...args, '--redis', redis.url, '--prefix', prefix]).ended;
}

describe('hubline', () => {
  it('finds a failed event among 10,000 from its request, shows it, and replays it', async () => {
    const ticks = Array.from({ length: 1_000 }, (_, index) => ({ index }));
    for (let batch = 0; batch < 10; batch += 1) await hub.emitMany('tick', ticks);
    await hub.emit('order.placed', {}, { requestId });
    await vi.waitFor(async () => {
      expect(await hub.metrics('invoice.due')).toMatchObject({ failed: 1 });
      expect(await hub.metrics('tick')).toMatchObject({ completed: 10_000 });
    }, 60_000);

    const tree = await hubline('request', requestId);
    expect(tree).toMatchObject({ code: 0, stderr: '' });
    expect(tree.stdout).toMatch(
      /^order\.placed completed in .*\n {2}invoice\.due failed .*: Error: out of \[31m paper /,
    );
    const json = JSON.parse((await hubline('request', requestId, '--json')).stdout) as {
      events: { id: string; type: string }[];
    };
    const id = json.events.find(({ type }) => type === 'invoice.due')?.id ?? '';
    const shown = await hubline('show', id);
    expect(shown.stdout).toMatch(/attempt 1 .*out of.*\n.*attempt 2 .*out of.*\n.*dead letter: hubline replay /);
    expect([tree.stdout, shown.stdout, JSON.stringify(json)].join()).not.toContain('private');
    expect((await hubline('show', id, '--payload')).stdout).toContain('private 4711');

    const dead = await hubline('dead-letters', '--request', requestId, '--since', '1h', '--json');
    expect(JSON.parse(dead.stdout)).toMatchObject([{ id, type: 'invoice.due', service: 'shop', requestId }]);
    expect(dead.stdout).not.toContain('private');
    expect((await hubline('dead-letters', 'invoice.due', '--payload')).stdout).toContain('private 4711');
    const failing = await hubline('status');
    expect(failing).toMatchObject({ code: 4, stdout: expect.stringContaining('error failing invoice.due') });

    isPrinterUp = true;
    expect(await hubline('replay', id)).toMatchObject({ code: 0, stdout: 'Replayed 1 of 1.\n' });
    await vi.waitFor(async () => expect(await hub.find(id)).toMatchObject([{ status: 'completed' }]), 20_000);
    expect(await hubline('replay', id)).toMatchObject({ code: 3, stderr: `There is no dead letter ${id}.\n` });
    isPrinterUp = false;
  });

  it('replays the dead letters of a type after a confirmation alone', async () => {
    await hub.startWorkflow('pack', null);
    await hub.startWorkflow('pack', null);
    await vi.waitFor(async () => expect(await hub.deadLetters('pack')).toHaveLength(2), 20_000);
    const [dead] = await hub.deadLetters('pack');
    const shown = await hubline('show', dead?.id ?? '');
    expect(shown.stdout).toMatch(/^pack failed.* at fold: .*torn box.*\n/);
    expect(shown.stdout).toMatch(/step fold {2}failed .*torn box/);
    const asked = await hubline('replay', '--type', 'pack', '--since', '1h');
    expect(asked).toMatchObject({ code: 2, stderr: 'Replay 2 dead letters of pack? Pass --yes to confirm.\n' });
    expect(await hub.deadLetters('pack')).toHaveLength(2);
    const replayed = await hubline('replay', '--type', 'pack', '--since', '1h', '--yes', '--json');
    expect(JSON.parse(replayed.stdout)).toEqual({ replayed: 2, failures: [] });
    expect(await hubline('replay')).toMatchObject({ code: 2 });
    expect(await hubline('replay', '--type', 'tick')).toMatchObject({ code: 3 });
  });

  it('cancels an event that waits, and a run', async () => {
    const { id } = await hub.emit('later', null, { delayMs: 600_000 });
    expect(await hubline('cancel', id)).toMatchObject({ code: 0, stdout: `Cancelled ${id}.\n` });
    expect(await hub.find(id)).toMatchObject([{ status: 'cancelled' }]);
    expect(await hubline('cancel', id)).toMatchObject({ code: 3 });
    const { runId } = await hub.startWorkflow('rest', null);
    await vi.waitFor(async () => expect(await hub.find(runId)).toMatchObject([{ status: 'suspended' }]), 20_000);
    expect(await hubline('cancel', runId)).toMatchObject({ code: 0 });
    expect(await hub.find(runId)).toMatchObject([{ status: 'cancelled' }]);
  });

  it('lists types and events, and renews a table', async () => {
    await hub.emit('tick', null);
    const types = await hubline('events');
    expect(types.stdout).toMatch(/^type +received +failed +pending/);
    expect(types.stdout).toMatch(/^order\.placed +\d/m);
    expect(types.stdout).toMatch(/^pack \(workflow\) +\d/m);
    expect((await hubline('events', 'tick')).stdout).toMatch(/ tick +completed /);
    expect(await hubline('events', 'tock')).toMatchObject({ code: 1, stderr: expect.stringContaining('"tick"') });
    const frames = await hubline('watch', '--frames', '2', '--interval', '1');
    expect(frames.stdout.match(/^\d{4}-.* problems$/gm)).toHaveLength(2);
    const frame: unknown = JSON.parse((await hubline('watch', '--frames', '1', '--json')).stdout);
    expect(frame).toMatchObject({ events: expect.any(Array) });
  });

  it('serves the dashboard until it is ended', async () => {
    const { child, ended } = start(['dashboard', '--port', '0', '--redis', redis.url, '--prefix', prefix]);
    const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const url = line.toString().trim();
    const body: unknown = await (await fetch(`${url}api/introspection`)).json();
    expect(body).toMatchObject({ protocol: 2, hub: { transport: 'redis' } });
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('retires a service that does not run', async () => {
    const mail = createHub({ service: 'mail', transport: redisTransport({ url: redis.url, prefix }) });
    mail.event({ type: 'mailed', handler: () => {} });
    await mail.start();
    const running = await hubline('retire', 'mail', '--yes');
    expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining('ServiceRunningError') });
    await mail.stop();
    expect(await hubline('retire', 'mail')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    expect(await hubline('retire', 'mail', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Retired'),
    });
  });

  it('says so if nothing is there, or nothing has the id', async () => {
    const elsewhere = ['--redis', redis.url, '--prefix', randomUUID()];
    expect(await start(['status', ...elsewhere]).ended).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('--prefix'),
    });
    expect(await start(['dead-letters', ...elsewhere]).ended).toMatchObject({ code: 0, stdout: '' });
    expect(await hubline('show', 'unknown')).toMatchObject({ code: 3, stderr: expect.stringContaining('unknown') });
    expect(await hubline('request', 'unknown')).toMatchObject({ code: 3 });
  });

  it('ends with the reason if Redis cannot be used, and never shows a password', async () => {
    const closed = await start(['status', '--redis', 'redis://:secret@127.0.0.1:1']).ended;
    expect(closed).toMatchObject({ code: 1, stdout: '' });
    expect(closed.stderr).toMatch(/^\w+Error: /);
    expect(closed.stderr).not.toContain('secret');
    expect(await start(['status', '--redis', 'http://127.0.0.1']).ended).toMatchObject({ code: 1 });
    const admin = new Redis(redis.url);
    await admin.call('ACL', 'SETUSER', 'guest', 'on', '>guest-password', '~*', '&*', '+@connection');
    admin.disconnect();
    const guest = await start(['status', '--redis', `redis://guest:guest-password@127.0.0.1:${redis.port}`]).ended;
    expect(guest).toMatchObject({ code: 1, stderr: expect.stringContaining('RedisPermissionError') });
    expect(guest.stderr).not.toContain('guest-password');
  });

  it('explains its commands, and refuses wrong arguments', async () => {
    const help = await start(['--help']).ended;
    expect(help).toMatchObject({ code: 0, stderr: '' });
    for (const command of [
      'dashboard',
      'status',
      'events',
      'show',
      'request',
      'dead-letters',
      'replay',
      'cancel',
      'retire',
      'watch',
    ])
      expect(help.stdout).toMatch(new RegExp(`^  ${command}`, 'm'));
    expect((await start(['replay', '--help']).ended).stdout).toContain(
      'hubline replay --type payment.requested --since 2h',
    );
    for (const args of [['show'], ['unknown'], ['status', '--jsn'], ['replay', '--type', 'a', '--since', 'soon']]) {
      expect(await start(args).ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('error:') });
    }
  });
});
