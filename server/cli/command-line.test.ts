import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../scripts/redis-server.js';
import { createAgent } from '../agents/create-agent.js';
import { createTool } from '../agents/tools/tool.js';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { redisTransport } from '../transports/redis/redis-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import type { Transport } from '../transports/transport.js';
import { buildCommandLine, type CommandLine, type CommandResult } from './command-line.fixture.js';
import { runInProcess } from './in-process.fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-command-line-'));
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

/** A store, and the options of the command line that name it. */
interface Store {
  readonly transport: Transport;
  readonly args: readonly string[];
}

const stores: [string, () => Store][] = [
  [
    'a Redis',
    () => {
      const prefix = randomUUID();
      const args = ['--redis', redis.url, '--prefix', prefix];
      return { transport: redisTransport({ url: redis.url, prefix, emitTimeoutMs: 60_000 }), args };
    },
  ],
  [
    'a file that a hub owns',
    () => {
      const file = join(folder, `${randomUUID()}.db`);
      return { transport: sqliteTransport({ file }), args: ['--file', file] };
    },
  ],
];

const requestId = 'checkout 17';
const secret = 'private 4711';

describe.each(stores)('hubline on %s', (_, openStore) => {
  let store: Store;
  let hub: Hub;
  let isPrinterUp = false;
  let refunds = 0;

  beforeAll(async () => {
    store = openStore();
    hub = createHub({ service: 'shop', transport: store.transport });
    hub.event({
      type: 'order.placed',
      handler: async ({ emit }) => {
        await emit('invoice.due', { card: secret });
        await emit('question.asked', secret);
      },
    });
    hub.event({
      type: 'invoice.due',
      retry: { maxAttempts: 2, initialDelayMs: 0 },
      handler: () => {
        if (!isPrinterUp) throw new Error('out of\u001b[31m paper');
      },
    });
    const clerk = createAgent({
      name: 'clerk',
      systemPrompt: secret,
      model: { model: 'rehearsed' },
      prices: { rehearsed: { input: 1_000, output: 2_000 } },
      provider: scriptedProvider([{ toolCalls: [{ name: 'look_up', arguments: { secret } }] }, secret]),
      tools: [
        createTool({
          name: 'look_up',
          description: 'Looks up an order.',
          parameters: { type: 'object' },
          execute: () => {
            throw new Error(secret);
          },
        }),
      ],
    });
    hub.event({ type: 'question.asked', handler: clerk.asHandler() });
    const cashier = createAgent({
      name: 'cashier',
      systemPrompt: secret,
      model: { model: 'rehearsed' },
      provider: scriptedProvider([
        {
          toolCalls: [
            { name: 'refund', arguments: {} },
            { name: 'refund', arguments: { twice: true } },
          ],
        },
        'done',
      ]),
      tools: [
        createTool({
          name: 'refund',
          description: 'Refunds an order.',
          parameters: { type: 'object' },
          execute: async () => refunds++,
          needsApproval: true,
        }),
      ],
    });
    const requested = hub.event({ type: 'approval.requested', handler: () => {} });
    const decided = hub.event<{ approvalId: string; approved: boolean; reason?: string }>({
      type: 'approval.decided',
      key: ({ approvalId }) => approvalId,
    });
    hub.event({ type: 'refund.asked', handler: cashier.asHandler({ approvals: { requested, decided } }) });
    hub.event({ type: 'tick', handler: () => {} });
    hub.event({ type: 'later', handler: () => {} });
    hub.workflow(
      createWorkflow({
        name: 'pack',
        trigger: 'order.placed',
        run: async ({ step }) => {
          await step.run('pick', () => secret);
          const fold = (): void => {
            if (!isPrinterUp) throw new Error('torn box');
          };
          await step.run('fold', fold, { retry: { maxAttempts: 2, initialDelayMs: 0 } });
        },
      }),
    );
    hub.workflow(createWorkflow({ name: 'rest', run: ({ step }) => step.sleep('long', 600_000) }));
    await hub.start();
  });
  afterAll(() => hub.stop({ drainMs: 0 }));

  const hubline = (...args: string[]): Promise<CommandResult> =>
    runInProcess([...args, ...store.args, '--timeout', '60']);

  it('finds failures among 10,000 events from a request, shows step and turn, and replays them', async () => {
    const ticks = Array.from({ length: 1_000 }, (_, index) => ({ index }));
    for (let batch = 0; batch < 10; batch += 1) await hub.emitMany('tick', ticks);
    await hub.emit('order.placed', {}, { requestId });
    await vi.waitFor(async () => {
      const found = await hub.getRequest(requestId);
      expect(found.events.filter(({ endedAt }) => endedAt !== undefined)).toHaveLength(4);
      expect(await hub.metrics('tick')).toMatchObject({ pending: 0 });
    });

    const tree = await hubline('request', requestId);
    expect(tree).toMatchObject({ code: 0, stderr: '' });
    expect(tree.stdout).toMatch(/^order\.placed completed in /);
    expect(tree.stdout).toMatch(/^ {2}invoice\.due failed in .*: Error: out of \[31m paper /m);
    expect(tree.stdout).toMatch(/^ {2}pack failed .*at fold: .*torn box /m);
    expect(tree.stdout).toMatch(/^ {2}question\.asked completed /m);
    const json = await hubline('request', requestId, '--json');
    const { events } = JSON.parse(json.stdout) as { events: { id: string; type: string }[] };
    const idOf = (type: string): string => events.find((event) => event.type === type)?.id ?? '';

    const [event, run, turns, dead, failing] = await Promise.all([
      hubline('show', idOf('invoice.due')),
      hubline('show', idOf('pack')),
      hubline('show', idOf('question.asked')),
      hubline('dead-letters', '--request', requestId, '--since', '1h', '--json'),
      hubline('status'),
    ]);
    expect(event.stdout).toMatch(/attempt 1 .*out of.*\n.*attempt 2 .*out of.*\n.*dead letter: hubline replay /);
    expect(run.stdout).toMatch(/step pick {2}completed .*\n.*step fold {2}failed {2}attempt 2 .*torn box/);
    expect(turns.stdout).toMatch(
      /step turn 1 {2}\(model\) {2}completed {2}.* {2}agent clerk {2}model rehearsed {2}10 \+ 5 tokens {2}cost 0\.02\n/,
    );
    expect(turns.stdout).toMatch(/step turn 1 \/ look_up {2}\(tool\) {2}completed .* {2}the model received an error\n/);
    expect(turns.stdout).toMatch(/step turn 2 {2}\(model\) {2}completed /);
    const letters = JSON.parse(dead.stdout) as { type: string }[];
    expect(letters).toEqual(letters.map(({ type }) => expect.objectContaining({ type, service: 'shop', requestId })));
    expect(letters.map(({ type }) => type).sort()).toEqual(['invoice.due', 'pack']);
    expect(failing).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(/^- error failing invoice\.due, 1 of 1 failed in 5 min, 1 dead letter, /m),
    });
    for (const { stdout } of [tree, json, event, run, turns, dead, failing]) expect(stdout).not.toContain(secret);
    const withPayloads = await Promise.all([
      hubline('show', idOf('invoice.due'), '--payload'),
      hubline('show', idOf('pack'), '--payload', '--json'),
      hubline('dead-letters', 'invoice.due', '--payload'),
    ]);
    for (const { stdout } of withPayloads) expect(stdout).toContain(secret);

    isPrinterUp = true;
    for (const type of ['invoice.due', 'pack']) {
      expect(await hubline('replay', idOf(type))).toMatchObject({ code: 0, stdout: 'Replayed 1 of 1.\n' });
      await vi.waitFor(async () => expect(await hub.find(idOf(type))).toMatchObject([{ status: 'completed' }]));
      const again = await hubline('replay', idOf(type));
      expect(again).toMatchObject({ code: 3, stderr: `There is no dead letter ${idOf(type)}.\n` });
    }
    expect(await hubline('status')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok: \d+ event types/) });
    isPrinterUp = false;
  });

  it.each([
    ['invoice.deu', 'invoice.due'],
    ['pakc', 'pack'],
  ])('names the nearest type of the dead letters of a misspelt one: %s', async (misspelt, nearest) => {
    const unknown = { code: 3, stdout: '', stderr: expect.stringContaining(`did you mean "${nearest}"?`) };
    expect(await hubline('dead-letters', misspelt)).toMatchObject(unknown);
    expect(await hubline('dead-letters', misspelt, '--json')).toMatchObject(unknown);
    expect(await hubline('replay', '--type', misspelt, '--yes')).toMatchObject(unknown);
    expect(await hubline('dead-letters', 'question.asked')).toMatchObject({ code: 0 });
  });

  it('replays the dead letters of a type after a confirmation alone', async () => {
    await hub.startWorkflow('pack', null);
    const older = await vi.waitFor(async () => {
      const [letter] = await hub.deadLetters('pack');
      if (letter === undefined || letter.at >= Date.now()) throw new Error('not yet');
      return letter.at;
    });
    await hub.startWorkflow('pack', null);
    await vi.waitFor(async () => expect(await hub.deadLetters('pack')).toHaveLength(2));
    const newer = ['--since', new Date(older + 1).toISOString()];
    expect(JSON.parse((await hubline('dead-letters', 'pack', ...newer, '--json')).stdout)).toHaveLength(1);
    const asked = await hubline('replay', '--type', 'pack', '--since', '1h');
    expect(asked).toMatchObject({ code: 2, stderr: 'Replay 2 dead letters of pack? Pass --yes to confirm.\n' });
    expect(await hub.deadLetters('pack')).toHaveLength(2);
    for (const [since, replayed] of [
      [newer, 1],
      [['--since', '1h'], 2],
    ] as const) {
      const { stdout } = await hubline('replay', '--type', 'pack', ...since, '--yes', '--json');
      expect(JSON.parse(stdout)).toEqual({ replayed, failures: [] });
      await vi.waitFor(async () => expect(await hub.deadLetters('pack')).toHaveLength(2));
    }
    expect(await hubline('replay')).toMatchObject({ code: 2 });
    expect(await hubline('replay', '--type', 'tick')).toMatchObject({ code: 3 });
    isPrinterUp = true;
    for (const { id } of await hub.deadLetters('pack')) await hub.replay(id);
    await vi.waitFor(async () => expect((await hub.introspect()).workflows[0]?.metrics).toMatchObject({ pending: 0 }));
    isPrinterUp = false;
  });

  it('cancels an event that waits, and a run', async () => {
    const { id } = await hub.emit('later', null, { delayMs: 600_000 });
    expect(await hubline('cancel', id)).toMatchObject({ code: 0, stdout: `Cancelled ${id}.\n` });
    expect(await hub.find(id)).toMatchObject([{ status: 'cancelled' }]);
    expect(await hubline('cancel', id)).toMatchObject({ code: 3 });
    const { runId } = await hub.startWorkflow('rest', null);
    await vi.waitFor(async () => expect(await hub.find(runId)).toMatchObject([{ status: 'suspended' }]));
    expect(JSON.parse((await hubline('cancel', runId, '--json')).stdout)).toEqual({ cancelled: true });
    expect(await hub.find(runId)).toMatchObject([{ status: 'cancelled' }]);
  });

  it('approves and refuses calls of tools', async () => {
    const { id } = await hub.emit('refund.asked', secret);
    await vi.waitFor(async () => expect(await hub.waits()).toMatchObject({ approvals: 2 }));
    expect(await hubline('approve', 'unknown')).toMatchObject({ code: 3 });
    const several = await hubline('approve', id);
    expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining("--step 'turn 1 / refund #2'") });
    const approved = await hubline('approve', id, '--step', 'turn 1 / refund');
    expect(approved).toMatchObject({ code: 0, stdout: `Approved turn 1 / refund of ${id}.\n` });
    const refused = await hubline('refuse', id, '--reason', 'too much', '--json');
    expect(JSON.parse(refused.stdout)).toMatchObject({ approved: false });
    await vi.waitFor(async () => expect(await hub.find(id)).toMatchObject([{ status: 'completed' }]));
    expect(refunds).toBe(1);
  });

  it('lists types and events, and renews a table', async () => {
    const { id } = await hub.emit('tick', null);
    await vi.waitFor(async () => expect(await hub.find(id)).toMatchObject([{ status: 'completed' }]));
    const types = await hubline('events');
    expect(types.stdout).toMatch(/^type +received +failed +pending/);
    expect(types.stdout).toMatch(/^order\.placed +\d/m);
    expect(types.stdout).toMatch(/^pack \(workflow\) +\d/m);
    expect((await hubline('events', 'tick')).stdout).toMatch(new RegExp(`^${id} +tick +completed `, 'm'));
    const one: unknown = JSON.parse((await hubline('events', 'tick', '--json')).stdout);
    expect(one).toMatchObject({ newest: expect.arrayContaining([expect.objectContaining({ id })]), failed: [] });
    expect(await hubline('events', 'tock')).toMatchObject({ code: 3, stderr: expect.stringContaining('"tick"') });
    const frames = await hubline('watch', '--frames', '2', '--interval', '1');
    expect(frames.stdout.match(/^\d{4}-.* problems$/gm)).toHaveLength(2);
    const frame: unknown = JSON.parse((await hubline('watch', '--frames', '1', '--json')).stdout);
    expect(frame).toMatchObject({ events: expect.any(Array) });
  });

  it('serves the dashboard until it is ended', async () => {
    const { child, ended } = commandLine.start(['dashboard', '--port', '0', ...store.args, '--timeout', '60']);
    const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    const url = line.toString().trim();
    const body: unknown = await (await fetch(`${url}api/introspection`)).json();
    expect(body).toMatchObject({ hub: { transport: expect.stringMatching(/redis|sqlite/) } });
    expect(JSON.stringify(body)).toContain('order.placed');
    child.kill('SIGTERM');
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('retires a service that does not run', async () => {
    const mail = createHub({ service: 'mail', transport: store.transport });
    mail.event({ type: 'mailed', handler: () => {} });
    await mail.start();
    const running = await hubline('retire', 'mail', '--yes');
    expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining('ServiceRunningError') });
    await mail.stop();
    expect(await hubline('retire', 'mail')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    const retired = JSON.parse((await hubline('retire', 'mail', '--yes', '--json')).stdout) as unknown;
    expect(retired).toEqual({ events: 0, deadLetters: 0 });
    expect(await hubline('retire', 'mail', '--yes')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('NotSubscribedError'),
    });
  });
});
