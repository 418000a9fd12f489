import { describe, expect, onTestFinished, test } from 'vitest';
import { createHub } from '../hub/create-hub.js';
import type { Hub } from '../hub/hub.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { everyTransport } from '../testing/every-transport.fixture.js';
import { createFakeClock } from '../testing/fake-clock.js';
import type { Clock } from '../transports/clock.js';
import { memoryTransport } from '../transports/memory/memory-transport.js';
import { DurationSketch, durationBucket } from '../transports/statistics/durations.js';
import type { Durations } from '../transports/statistics/stats.js';
import type { ModelAgent } from './agent/agent.js';
import type { ApprovalDecided, ApprovalRequest } from './agent/approval.js';
import { createAgent } from './create-agent.js';
import { createPipeline } from './multi-agent/create-pipeline.js';

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };

/** Creates an agent whose model takes these times, by a clock of its own. `null` is a call that fails. */
function writer(durations: readonly (number | null)[]): ModelAgent {
  let elapsed = 0;
  const clock: Clock = { ...createFakeClock(), monotonic: () => elapsed };
  const left = [...durations];
  return createAgent({
    name: 'writer',
    systemPrompt: '',
    model: { model: 'm' },
    clock,
    provider: {
      async chat() {
        const ms = left.shift();
        elapsed += ms ?? 7_000;
        if (ms === null) throw new Error('model down');
        return { content: 'ok', usage, finishReason: 'stop' };
      },
    },
  });
}

function percentilesOf(durations: readonly number[]): Durations {
  const sketch = new DurationSketch();
  for (const ms of durations) sketch.addBucket(durationBucket(ms), 1);
  sketch.noteLongest(Math.max(...durations));
  return sketch.durations();
}

async function agentOf(hub: Hub, name: string) {
  return (await hub.introspect()).agents.find((agent) => agent.name === name);
}

describe.each(everyTransport)('an agent in two processes on the %s transport', (_name, createTransport) => {
  test('has the percentiles of all its runs: of events, workflows, pipelines, and outside of them', async () => {
    const transport = createTransport();
    const start = async (service: string, agent: ModelAgent): Promise<Hub> => {
      const hub = createHub({ transport, service });
      onTestFinished(async () => {
        await hub.stop({ drainMs: 0 });
      });
      hub.event({ type: `${service}.asked`, handler: agent.asHandler() });
      hub.workflow(createPipeline({ name: `${service}-line`, steps: [{ agent }] }));
      const run = async (ctx: object) => (await agent.run('x', { hubCtx: ctx as never })).status;
      hub.workflow(createWorkflow({ name: `${service}-code`, run }));
      await hub.start();
      return hub;
    };
    const [news, mail] = [writer([100, 200, 400, 800, null]), writer([1_600, 25_600])];
    const first = await start('news', news);
    const second = await start('mail', mail);
    expect(await agentOf(first, 'writer')).not.toHaveProperty('durationMs');

    await first.emit('news.asked', 'x');
    await expect.poll(async () => (await first.metrics('news.asked')).completed).toBe(1);
    await (await first.startWorkflow('news-line', 'x')).result();
    await (await first.startWorkflow('news-code', 'x')).result();
    await news.run('x');
    expect((await news.run('x')).status).toBe('failed');
    await second.emit('mail.asked', 'x');
    await expect.poll(async () => (await second.metrics('mail.asked')).completed).toBe(1);
    await mail.run('x');

    const durationMs = percentilesOf([100, 200, 400, 800, 7_000, 1_600, 25_600]);
    const runs = { completed: 6, failed: 1 };
    for (const hub of [first, second]) {
      await expect.poll(() => agentOf(hub, 'writer')).toMatchObject({ runs, durationMs });
    }
    expect(durationMs.p95).toBeGreaterThan(6_000);
    expect(durationMs.max).toBe(25_600);
  });
});

const day = 86_400_000;

/** Registers the events of approvals. */
function approvalsOn(hub: Hub) {
  const requests: ApprovalRequest[] = [];
  const handler = ({ payload }: { readonly payload: ApprovalRequest }) => void requests.push(payload);
  const requested = hub.event<ApprovalRequest>({ type: 'approval.requested', handler });
  const decided = hub.event<ApprovalDecided>({ type: 'approval.decided', key: ({ approvalId }) => approvalId });
  return { requests, approvals: { requested, decided } };
}

/** Creates an agent that asks for approval in its first turn and then answers. */
function asking(name: string, clock: Clock): ModelAgent {
  return createAgent({
    name,
    systemPrompt: '',
    model: { model: 'm' },
    clock,
    provider: {
      async chat(messages) {
        const isAnswered = messages.some(({ role }) => role === 'tool');
        if (isAnswered) return { content: 'done', usage, finishReason: 'stop' };
        const toolCalls = [{ id: '1', name: 'refund', arguments: '' }];
        return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
      },
    },
    tools: [
      {
        name: 'refund',
        description: '',
        parameters: { type: 'object' },
        needsApproval: true,
        execute: async () => 'refunded',
      },
    ],
  });
}

test('a run that waits for a decision counts once, from its start in an earlier process', async () => {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const start = async (): Promise<{ hub: Hub } & ReturnType<typeof approvalsOn>> => {
    const hub = createHub({ transport });
    const events = approvalsOn(hub);
    hub.event({ type: 'asked', handler: asking('a', clock).asHandler({ approvals: events.approvals }) });
    await hub.start();
    return { hub, ...events };
  };
  const first = await start();
  await first.hub.emit('asked', 'x');
  await clock.settle();
  const [request] = first.requests;
  expect(await agentOf(first.hub, 'a')).toMatchObject({
    runs: { completed: 0 },
    active: 0,
    suspended: 1,
    approvalsWaiting: 1,
  });
  expect(await agentOf(first.hub, 'a')).not.toHaveProperty('durationMs');
  await first.hub.stop({ drainMs: 0 });
  await clock.advance(day);
  const { hub, approvals } = await start();
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  await hub.emit(approvals.decided, { approvalId: request?.approvalId ?? '', approved: true });
  await clock.settle();
  const durationMs = percentilesOf([day]);
  expect(await agentOf(hub, 'a')).toMatchObject({
    runs: { completed: 1 },
    durationMs,
    active: 0,
    suspended: 0,
    approvalsWaiting: 0,
  });
});

test('all approvals of an agent count, whatever else runs in the workflows', async () => {
  const clock = createFakeClock();
  const hub = createHub({ transport: memoryTransport({ clock }) });
  onTestFinished(async () => {
    await hub.stop({ drainMs: 0 });
  });
  const { requests, approvals } = approvalsOn(hub);
  const [a, b, coded] = [asking('a', clock), asking('b', clock), asking('c/d', clock)];
  hub.workflow(createPipeline({ name: 'alone', steps: [{ agent: a }], approvals }));
  hub.workflow(createPipeline({ name: 'both', steps: [{ parallel: [{ agent: a }, { agent: b }] }], approvals }));
  hub.workflow(
    createWorkflow({
      name: 'code',
      run: async (ctx) => {
        if (ctx.input === 'rest') return ctx.step.sleep('long', 1);
        return void (await Promise.all(['x', 'y'].map((input) => coded.run(input, { hubCtx: ctx, approvals }))));
      },
    }),
  );
  await hub.start();
  for (let run = 0; run < 12; run += 1) {
    await hub.startWorkflow('alone', 'x');
    await hub.startWorkflow('both', 'x');
    await hub.startWorkflow('code', 'x');
  }
  // An introspection lists the newest runs.
  for (let run = 0; run < 12; run += 1) await hub.startWorkflow('code', 'rest');
  await clock.settle();
  await expect.poll(() => requests.length).toBe(60);
  // Workflows with other steps do not tell which agent is suspended in them.
  expect(await agentOf(hub, 'a')).toMatchObject({ suspended: 12 });
  expect(await agentOf(hub, 'b')).toMatchObject({ suspended: 0 });
  const waiting = (await hub.introspect()).agents.map(({ name, approvalsWaiting }) => [name, approvalsWaiting]);
  expect(Object.fromEntries(waiting)).toEqual({ a: 24, b: 12, 'c/d': 24 });
});
