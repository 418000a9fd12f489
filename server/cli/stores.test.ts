import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { createAgent } from '../agents/create-agent.js';
import { createTool } from '../agents/tools/tool.js';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { scriptedProvider } from '../testing/scripted-provider.js';
import { contractCodec } from '../transports/contract/describe-transport.js';
import { sqliteTransport } from '../transports/sqlite/sqlite-transport.js';
import { buildCommandLine, type CommandLine, type CommandResult } from './command-line.fixture.js';
import { runInProcess } from './in-process.fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'hubline-stores-'));
let commandLine: CommandLine;
beforeAll(async () => {
  commandLine = await buildCommandLine();
});
afterAll(async () => {
  await commandLine.remove();
  rmSync(folder, { recursive: true });
});

it.each([
  ['without a codec', {}],
  ['with a codec', { codec: contractCodec }],
])('reads and changes a file %s that no process owns, for the next one', async (name, options) => {
  const file = join(folder, `${name}.db`);
  let isUp = false;
  let refunds = 0;
  const call = { name: 'refund', arguments: {} };
  const cashier = createAgent({
    name: 'cashier',
    systemPrompt: 'You refund.',
    model: { model: 'rehearsed' },
    provider: scriptedProvider([{ toolCalls: [call, call] }, 'done']),
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
  const open = async (): Promise<Hub> => {
    const hub = createHub({ service: 'shop', transport: sqliteTransport({ file, ...options }) });
    onTestFinished(async () => void (await hub.stop({ drainMs: 0 })));
    hub.event({
      type: 'invoice.due',
      handler: () => {
        if (!isUp) throw new Error('out of paper');
      },
    });
    hub.event({ type: 'later', handler: () => {} });
    hub.event({ type: 'endless', handler: () => new Promise(() => {}) });
    hub.workflow(
      createWorkflow({
        name: 'patient',
        key: () => 'shelf 4',
        run: ({ step }) => step.waitForEvent('scan', 'parcel.scanned'),
      }),
    );
    hub.event({ type: 'parcel.scanned' });
    const requested = hub.event({ type: 'approval.requested', handler: () => {} });
    const decided = hub.event<{ approvalId: string; approved: boolean; reason?: string }>({
      type: 'approval.decided',
      key: ({ approvalId }) => approvalId,
    });
    hub.event({ type: 'refund.asked', handler: cashier.asHandler({ approvals: { requested, decided } }) });
    await hub.start();
    return hub;
  };
  const first = await open();
  const { id } = await first.emit('invoice.due', { card: 'private 4711' }, { requestId: 'checkout 17' });
  const waiting = await first.emit('later', null, { delayMs: 600_000 });
  const refund = await first.emit('refund.asked', 'private 4711');
  await vi.waitFor(async () => expect(await first.deadLetters('invoice.due')).toHaveLength(1));
  await vi.waitFor(async () => expect(await first.waits()).toMatchObject({ approvals: 2 }));
  const { runId } = await first.startWorkflow('patient', null);
  await vi.waitFor(async () => expect(await first.waits()).toMatchObject({ suspended: 2 }));
  const endless = await first.emit('endless', null);
  await vi.waitFor(async () => expect(await first.find(endless.id)).toMatchObject([{ status: 'active' }]));
  await first.stop({ drainMs: 0 });

  const hasCodec = 'codec' in options;
  const onFile = (...args: string[]): Promise<CommandResult> => runInProcess([...args, '--file', file]);
  const status = await onFile('status');
  expect(status).toMatchObject({
    code: 4,
    stdout: expect.stringMatching(/^- error no-process later, no process of shop handles it, 1 pending/m),
  });
  expect((await onFile('events')).stdout).toMatch(/^invoice\.due +1 +1 +0 +1 /m);
  expect((await onFile('events', 'invoice.due')).stdout).toContain(id);
  expect((await onFile('show', id)).stdout).toMatch(/^invoice\.due failed .*out of paper/);
  const shown = await onFile('show', id, '--payload');
  expect(shown.stdout.includes('private 4711')).toBe(!hasCodec);
  expect((await onFile('request', 'checkout 17')).stdout).toContain(id);
  expect((await onFile('dead-letters', '--json')).stdout).toContain(id);
  expect((await onFile('watch', '--frames', '1')).stdout).toMatch(/^later +1 /m);
  expect(await onFile('cancel', waiting.id)).toMatchObject({ code: 0 });
  expect((await onFile('show', endless.id)).stdout).toMatch(/attempt 1 .* interrupted$/m);
  expect(await onFile('cancel', endless.id)).toMatchObject({ code: 0 });
  expect(await onFile('cancel', runId)).toMatchObject({ code: 0 });
  expect((await onFile('show', runId)).stdout).toMatch(/step scan {2}\(event\) {2}cancelled .*for parcel\.scanned$/m);
  expect(await onFile('fork', runId, '--from', 'scam')).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('"scan"'),
  });
  const forked = await onFile('fork', runId, '--from', 'scan', '--json');
  expect(forked).toMatchObject(
    hasCodec ? { code: 1, stderr: expect.stringMatching(/^CodecMismatchError/) } : { code: 0 },
  );
  const fork = hasCodec ? undefined : (JSON.parse(forked.stdout).id as string);
  if (fork !== undefined) expect((await onFile('show', fork)).stdout).toContain(`fork of   ${runId} from scan`);
  expect(await onFile('replay', id)).toMatchObject({ code: 0, stdout: 'Replayed 1 of 1.\n' });
  expect((await onFile('show', id)).stdout).toMatch(/^invoice\.due waiting/);
  expect(await onFile('approve', refund.id)).toMatchObject({ code: 2, stderr: expect.stringContaining('--step') });
  expect(await onFile('approve', refund.id, '--step', 'turn 1 / refund')).toMatchObject({ code: 0 });
  expect(await onFile('refuse', refund.id, '--reason', 'too much')).toMatchObject({ code: 0 });
  expect(await onFile('approve', refund.id)).toMatchObject({ code: 3 });
  const ada = ['--reason', 'new printer', '--by', 'ada'];
  expect(await onFile('pause', '--type', 'later', ...ada)).toMatchObject({
    code: 0,
    stdout: 'Paused event type later.\n',
  });
  expect(await onFile('pause', '--service', 'shop', ...ada)).toMatchObject({ code: 0 });
  expect((await onFile('status')).stdout).toMatch(
    /^- paused service shop, by ada, since [\d.]+ m?s ago: new printer$/m,
  );
  expect(await onFile('resume', '--type', 'later')).toMatchObject({ code: 0, stdout: 'Resumed event type later.\n' });
  expect(await onFile('resume', '--type', 'later')).toMatchObject({ code: 3 });
  const refused = await onFile('retire', 'shop', '--yes');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('PendingEventsError') });

  isUp = true;
  const second = await open();
  expect(await second.find(id)).toMatchObject([{ status: 'waiting' }]);
  // The process that owns the file answers, and carries it out.
  expect((await commandLine.run('show', id, '--file', file)).stdout).toMatch(/^invoice\.due waiting/);
  expect(await commandLine.run('resume', '--service', 'shop', '--file', file)).toMatchObject({ code: 0 });
  await vi.waitFor(async () => expect(await second.find(id)).toMatchObject([{ status: 'completed' }]));
  expect(await second.find(waiting.id)).toMatchObject([{ status: 'cancelled' }]);
  await vi.waitFor(async () => expect(await second.find(refund.id)).toMatchObject([{ status: 'completed' }]));
  expect(refunds).toBe(1);
  if (fork !== undefined) {
    await second.emit('parcel.scanned', null);
    await vi.waitFor(async () => expect(await second.find(fork)).toMatchObject([{ status: 'completed' }]));
  }
  await second.stop();
  expect(await onFile('retire', 'shop', '--yes')).toMatchObject({ code: 0 });
});
