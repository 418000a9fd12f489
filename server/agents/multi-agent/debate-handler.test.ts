import { describe, expect, test } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { deferred, testHub } from '../../hub/hub.fixture.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import type { ScriptEntry } from '../../testing/scripted-provider.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { Agent } from '../agent/agent.js';
import type { AgentConfig } from '../create-agent.js';
import { agentOf } from '../scripted-agent.fixture.js';
import { createDebate } from './create-debate.js';
import { createAgentRegistry } from './delegation.js';
import type { DebateConfig } from './run-debate.js';
import { DebateError } from './run-debate.js';

const speaker = (name: string, script: readonly ScriptEntry[], config: Partial<AgentConfig> = {}) =>
  agentOf(script, { name, systemPrompt: '', tools: [], ...config });

/** Creates a hub on which a debate of two agents handles `plan.proposed`. */
async function started(a: readonly ScriptEntry[], b: readonly ScriptEntry[], config: Partial<DebateConfig> = {}) {
  const { hub, clock } = testHub();
  const followUps: HandlerCtx[] = [];
  for (const type of ['ok', 'bad']) hub.event({ type, handler: (ctx) => followUps.push(ctx) });
  const speakers = [speaker('a', a), speaker('b', b)];
  const participants = speakers.map(({ agent }) => agent);
  const debate = createDebate({ name: 'd', participants, maxRounds: 1, ...config });
  const retry = { maxAttempts: 2, initialDelayMs: 0 };
  hub.event({ type: 'plan.proposed', handler: debate.asHandler(), retry, onSuccess: 'ok', onFailure: 'bad' });
  await hub.start();
  return {
    hub,
    clock,
    speakers,
    async propose(payload: unknown) {
      await hub.emit('plan.proposed', payload, { requestId: 'req' });
      await clock.advance(1);
      const metrics = await hub.metrics('plan.proposed');
      return { metrics, followUps: followUps.map(({ eventType, payload: sent }) => [eventType, sent]) };
    },
  };
}

test.each([
  ['a string payload', 'Tea?', 'Topic:\n> Tea?\n'],
  ['payload.input', { input: 'Tea?', output: 'no' }, 'Topic:\n> Tea?\n'],
  ['the JSON of any other payload', { output: 'Tea?' }, 'Topic:\n> {"output":"Tea?"}\n'],
])('the topic is %s', async (_, payload, topic) => {
  const { propose, speakers } = await started(['a1'], ['b1']);
  await propose(payload);
  for (const { provider } of speakers) expect(provider.calls[0]?.messages[0]?.content).toContain(topic);
});

test('the result is the payload of onSuccess', async () => {
  const moderator = speaker('m', ['Tea.']).agent;
  const { propose } = await started(['a1'], ['b1'], { moderator });
  expect(await propose('Tea?')).toMatchObject({
    metrics: { completed: 1, failed: 0 },
    followUps: [['ok', { topic: 'Tea?', status: 'completed', synthesis: 'Tea.', rounds: [{ roundNumber: 1 }] }]],
  });
});

test('a failed debate fails the event, which is retried', async () => {
  const { propose, speakers } = await started(['a1'], [new Error('down'), new Error('down')]);
  expect(await propose('Tea?')).toMatchObject({
    metrics: { completed: 0, failed: 1, retried: 1 },
    followUps: [
      [
        'bad',
        { error: { name: 'DebateError', code: 'ERR_DEBATE', message: expect.stringContaining('debate "d" failed') } },
      ],
    ],
  });
  for (const { provider } of speakers) provider.assertDone();
});

test('a debate whose agents used up their turns is not retried', async () => {
  const callNone = { content: 'a tho', toolCalls: [{ name: 'none' }] };
  const moderator = speaker('m', [callNone], { maxIterations: 1 });
  const { propose, speakers } = await started(['a1'], ['b1'], { moderator: moderator.agent });
  expect(await propose('Tea?')).toMatchObject({ metrics: { failed: 1, retried: 0 } });
  for (const { provider } of [...speakers, moderator]) provider.assertDone();
});

describe('a debate on a hub is a durable run', () => {
  const down = new Error('down');

  test('a retry asks nobody who answered again, and counts all tokens', async () => {
    const moderator = speaker('m', [down, 'Tea.']);
    const config = { moderator: moderator.agent, maxRounds: 2 };
    const { propose, speakers } = await started(['a1', 'a2'], ['b1', 'b2'], config);
    expect(await propose('Tea?')).toMatchObject({
      metrics: { completed: 1, retried: 1 },
      followUps: [['ok', { synthesis: 'Tea.', tokenUsage: { totalTokens: 75 } }]],
    });
    for (const { provider } of [...speakers, moderator]) provider.assertDone();
  });

  test('a speaker who failed stays out of a debate that went on without it', async () => {
    const moderator = speaker('m', [down, 'Tea.']);
    const left = speaker('c', [down]);
    const [a, b] = [speaker('a', ['a1', 'a2']), speaker('b', ['b1', 'b2'])];
    const asked: number[] = [];
    const { propose } = await started([], [], {
      participants: [a.agent, b.agent, left.agent],
      moderator: moderator.agent,
      maxRounds: 3,
      stopWhen: ({ roundNumber }) => asked.push(roundNumber) === 2,
    });
    const { followUps } = await propose('Tea?');
    expect(followUps).toMatchObject([['ok', { status: 'completed', synthesis: 'Tea.' }]]);
    expect(asked).toEqual([1, 2]);
    for (const { provider } of [a, b, left, moderator]) provider.assertDone();
  });

  test('a process that dies within a round repeats no answer, also of agents of another kind', async () => {
    const transport = memoryTransport();
    const reached = deferred();
    const runs: string[] = [];
    const echo: Agent = {
      name: 'echo',
      description: undefined,
      async run(input) {
        runs.push(input);
        const tokenUsage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
        return {
          agentName: 'echo',
          runId: 'r',
          output: 'e1',
          messages: [],
          toolCalls: [],
          tokenUsage,
          status: 'completed',
        };
      },
      asHandler: () => () => {},
    };
    const results: unknown[] = [];
    const hubWith = async (script: readonly ScriptEntry[]) => {
      const b = speaker('b', script);
      const hub = createHub({ transport });
      const debate = createDebate({ name: 'd', participants: [echo, b.agent], maxRounds: 1 });
      hub.event({ type: 'asked', handler: debate.asHandler(), onSuccess: 'ok' });
      hub.event({ type: 'ok', handler: ({ payload }) => void results.push(payload) });
      await hub.start();
      return { hub, provider: b.provider };
    };
    const stuck = (): string => {
      reached.resolve();
      return 'late';
    };
    const first = await hubWith([() => ({ content: stuck(), delayMs: 600_000 })]);
    const { id } = await first.hub.emit('asked', 'Tea?');
    await reached.promise;
    const recorded = async () => (await first.hub.getRun('asked', id)).steps.map(({ name, status }) => [name, status]);
    await expect.poll(recorded).toContainEqual(['echo 1', 'completed']);
    await first.hub.stop({ drainMs: 0 });
    const second = await hubWith(['b1']);
    await expect.poll(() => results.length).toBe(1);
    await second.hub.stop({ drainMs: 0 });
    expect(results).toMatchObject([{ output: 'echo:\n> e1\n\nb:\n> b1', tokenUsage: { totalTokens: 30 } }]);
    expect(runs).toHaveLength(1);
    second.provider.assertDone();
  });
});

test('the error contains the result', async () => {
  const { hub, clock } = testHub();
  const thrown: unknown[] = [];
  const participants = [speaker('a', ['a1']).agent, speaker('b', [new Error('down')]).agent];
  const handler = createDebate({ name: 'd', participants }).asHandler();
  hub.event({
    type: 'x',
    handler: async (ctx) => thrown.push(await Promise.resolve(handler(ctx)).catch((e: unknown) => e)),
  });
  await hub.start();
  await hub.emit('x', 'Tea?');
  await clock.settle();
  expect(thrown[0]).toBeInstanceOf(DebateError);
  expect(thrown[0]).toMatchObject({
    result: { status: 'failed', rounds: [{ contributions: [{ output: 'a1' }, {}] }] },
  });
});

test('stopping the hub aborts the debate', async () => {
  const { hub, clock, speakers } = await started([{ delayMs: 60_000 }], ['b1']);
  await hub.emit('plan.proposed', 'Tea?');
  await clock.settle();
  expect(await hub.stop({ drainMs: 0 })).toEqual({ released: 1, overdue: 0 });
  expect(speakers[0]?.provider.calls[0]?.options.signal?.reason).toMatchObject({ code: 'ERR_SHUTDOWN' });
});

test('introspection shows the event as a debate, with its agents and their delegates', async () => {
  const { hub } = testHub();
  const registry = createAgentRegistry();
  registry.register(speaker('librarian', []).agent);
  const [a, b, m] = [speaker('a', [], { registry }), speaker('b', [], { registry }), speaker('m', [])];
  const debate = createDebate({ name: 'd', participants: [a.agent, b.agent], moderator: m.agent });
  hub.event({ type: 'plan.proposed', handler: debate.asHandler() });
  hub.workflow(createWorkflow({ name: 'w', steps: [{ name: 'argue', handler: debate.asHandler() }] }));
  const { events, workflows, agents } = await hub.introspect();
  expect(events[0]?.kind).toBe('debate');
  expect(workflows[0]?.steps).toEqual([{ name: 'argue', kind: 'step' }]);
  expect(agents.map(({ name, delegates }) => [name, delegates])).toEqual([
    ['a', ['librarian']],
    ['librarian', []],
    ['b', ['librarian']],
    ['m', []],
  ]);
});
