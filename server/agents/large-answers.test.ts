import { expect, test } from 'vitest';
import { z } from 'zod';
import type { HandlerFunction } from '../hub/events/context.js';
import { testHub } from '../hub/hub.fixture.js';
import type { Hub } from '../hub/hub.js';
import { createWorkflow, type HubWorkflow } from '../hub/runs/workflow.js';
import { type ScriptEntry, scriptedProvider } from '../testing/scripted-provider.js';
import { createAgent } from './create-agent.js';
import { createDebate } from './multi-agent/create-debate.js';
import { createPipeline } from './multi-agent/create-pipeline.js';
import { agentOf } from './scripted-agent.fixture.js';
import { createTool } from './tools/tool.js';

const maxPayloadBytes = 6_000;
const long = (letter: string): string => `${letter}é"\n🙂`.repeat(1_500);
const chars = long('a').length;
const member = (name: string, script: readonly ScriptEntry[]) => agentOf(script, { name, systemPrompt: '', tools: [] });
type Member = ReturnType<typeof member>;
type Results = (payload: never) => readonly object[];
/** Starts what was registered, and resolves with a function that reads its record. */
type Start = (hub: Hub) => Promise<() => Promise<unknown>>;

function onEvent(hub: Hub, handler: HandlerFunction, followUp: 'onSuccess' | 'onComplete' = 'onSuccess'): Start {
  const asked = hub.event({ type: 'asked', handler, retry: { maxAttempts: 3 }, [followUp]: 'ok' });
  return async () => {
    const { id } = await hub.emit(asked, 'go');
    return () => hub.getRun(asked, id, { outputs: true });
  };
}

function asWorkflow(hub: Hub, workflow: HubWorkflow<unknown, unknown>): Start {
  hub.workflow(workflow);
  return async () => {
    const { runId } = await hub.startWorkflow(workflow, 'go');
    return () => hub.getRun(workflow, runId, { outputs: true });
  };
}

/** Place whose result becomes a payload: registers it, and returns its agents. */
const places: [string, (hub: Hub) => { members: Member[]; start: Start; results?: Results; hasRecord?: false }][] = [
  ...(['onSuccess', 'onComplete'] as const).map((followUp): (typeof places)[number] => [
    `an event with ${followUp}`,
    (hub) => {
      const a = member('a', [long('a')]);
      const results: Results = (payload: { result?: object }) => [payload.result ?? payload];
      return { members: [a], start: onEvent(hub, a.agent.asHandler(), followUp), results };
    },
  ]),
  [
    'a handler that returns the result of an agent',
    (hub) => {
      const a = member('a', [long('a')]);
      const handler = a.agent.asHandler();
      return { members: [a], start: onEvent(hub, async (ctx) => handler(ctx)), hasRecord: false };
    },
  ],
  [
    'a step of a list',
    (hub) => {
      const a = member('a', [long('a')]);
      const steps = [{ name: 'one', handler: a.agent.asHandler() }];
      return { members: [a], start: asWorkflow(hub, createWorkflow({ name: 'w', steps, onSuccess: 'ok' })) };
    },
  ],
  [
    'a pipeline',
    (hub) => {
      const [a, b] = [member('a', [long('a')]), member('b', [long('b')])];
      const steps = [{ agent: a.agent }, { agent: b.agent }];
      return { members: [a, b], start: asWorkflow(hub, createPipeline({ name: 'w', steps, onSuccess: 'ok' })) };
    },
  ],
  [
    'a parallel step at the end of a pipeline',
    (hub) => {
      const members = [member('a', [long('a')]), member('b', [long('b')]), member('c', ['short'])];
      const steps = [{ parallel: members.map(({ agent }) => ({ agent })) }] as const;
      const results: Results = ({ c, ...cut }: { c: object }) => {
        expect(c).toMatchObject({ output: 'short' });
        expect(c).not.toHaveProperty('omittedChars');
        return Object.values(cut);
      };
      return { members, start: asWorkflow(hub, createPipeline({ name: 'w', steps, onSuccess: 'ok' })), results };
    },
  ],
  [
    'a debate',
    (hub) => {
      const members = [
        member('a', [long('a'), 'short']),
        member('b', [long('b'), long('c')]),
        member('m', [long('d')]),
      ];
      const [participants, moderator] = [members.slice(0, 2).map(({ agent }) => agent), members[2]?.agent];
      const debate = createDebate({ name: 'd', participants, maxRounds: 2, ...(moderator && { moderator }) });
      const results: Results = (result: { synthesis: string; rounds: { contributions: object[] }[] }) => {
        const [[a1, b1] = [], [a2, b2] = []] = result.rounds.map(({ contributions }) => contributions);
        expect(a2).toEqual({ agentName: 'a', output: 'short' });
        return [result, { output: result.synthesis }, a1, b1, b2].map((found) => ({ omittedChars: 1, ...found }));
      };
      return { members, start: onEvent(hub, debate.asHandler()), results, hasRecord: false };
    },
  ],
];

test.each(places)(
  'an answer that is too large for a payload is cut and marked, and paid once: %s',
  async (_, prepare) => {
    const { hub, clock } = testHub({ maxPayloadBytes });
    const payloads: unknown[] = [];
    hub.event({ type: 'ok', handler: ({ payload }) => payloads.push(payload) });
    const { members, start, results = (payload: never) => [payload], hasRecord } = prepare(hub);
    await hub.start();
    const read = await start(hub);
    await clock.advance(10_000);
    expect(payloads).toHaveLength(1);
    for (const { provider } of members) provider.assertDone();
    for (const result of results(payloads[0] as never)) {
      expect(result).toMatchObject({
        output: expect.stringMatching(/🙂?\n\n\[The answer is cut: \d+ of \d+ characters are missing\.\]$/u),
        omittedChars: expect.any(Number),
      });
    }
    if (hasRecord === false) return;
    const record = JSON.stringify(await read());
    for (const { agent } of members.slice(0, 2))
      expect(record).toContain(JSON.stringify(long(agent.name)).slice(1, -1));
  },
);

test('the next agent of a pipeline reads that the answer was cut, and the mark says by how much', async () => {
  const { hub, clock } = testHub({ maxPayloadBytes });
  const [a, b] = [member('a', [long('a')]), member('b', ['ok'])];
  const pipeline = createPipeline({ name: 'w', steps: [{ agent: a.agent }, { agent: b.agent }] });
  hub.workflow(pipeline);
  await hub.start();
  const run = await hub.startWorkflow(pipeline, 'go');
  await clock.settle();
  expect(await run.result()).toMatchObject({ agentName: 'b', output: 'ok' });
  const input = b.provider.calls[0]?.messages.at(-1)?.content ?? '';
  const [, omitted = 0, total] =
    /\n\n\[The answer is cut: (\d+) of (\d+) characters are missing\.\]$/.exec(input) ?? [];
  expect(Number(total)).toBe(chars);
  const kept = long('a').slice(0, chars - Number(omitted));
  expect(input.startsWith(kept)).toBe(true);
  // The rest of the payload is the report.
  expect(Buffer.byteLength(JSON.stringify(kept))).toBeGreaterThan(maxPayloadBytes - 500);
});

test('an answer of 600 kB fits into the default payload, with its tool calls', async () => {
  const { hub, clock } = testHub();
  const payloads: unknown[] = [];
  const noop = createTool({ name: 'noop', description: '', parameters: {}, execute: async () => null });
  const toolCalls = Array.from({ length: 150 }, (_, n) => ({ name: n < 100 ? '\u0001'.repeat(300) : 'noop' }));
  const { agent, provider } = agentOf([{ toolCalls }, 'x'.repeat(600_000)], { tools: [noop] });
  hub.event({ type: 'asked', handler: agent.asHandler(), onSuccess: 'ok' });
  hub.event({ type: 'ok', handler: ({ payload }) => payloads.push(payload) });
  await hub.start();
  await hub.emit('asked', 'go');
  await clock.settle();
  provider.assertDone();
  const [payload] = payloads as { omittedChars: number; toolCalls: object[] }[];
  expect(Buffer.byteLength(JSON.stringify(payload))).toBeLessThanOrEqual(512 * 1_024);
  expect(payload?.toolCalls.length).toBeGreaterThan(100);
  expect(payload?.omittedChars).toBeGreaterThan(75_000);
});

test('data is never cut: it fails the event for good, and a replay with a larger limit pays nothing again', async () => {
  const provider = scriptedProvider([JSON.stringify({ text: long('a') })]);
  const outputSchema = z.object({ text: z.string() });
  const agent = createAgent({ name: 'a', systemPrompt: '', provider, model: { model: 'm' }, outputSchema });
  const payloads: { data: { text: string }; output: string; omittedChars?: number }[] = [];
  const { hub, clock, transport } = testHub({ maxPayloadBytes });
  const register = (on: Hub): void => {
    const ok = on.event<(typeof payloads)[number]>({
      type: 'ok',
      handler: ({ payload }) => void payloads.push(payload),
    });
    on.event({ type: 'asked', handler: agent.asHandler(), onSuccess: ok, retry: { maxAttempts: 3 } });
  };
  register(hub);
  await hub.start();
  const { id } = await hub.emit('asked', 'go');
  await clock.advance(10_000);
  expect(await hub.deadLetters('asked')).toMatchObject([{ message: expect.stringContaining('over maxPayloadBytes') }]);
  await hub.stop();
  const larger = testHub({ transport, maxPayloadBytes: 32_000 });
  register(larger.hub);
  await larger.hub.start();
  await larger.hub.replay(id);
  await clock.settle();
  // The text does not fit beside the data, which says the same.
  expect(payloads).toMatchObject([{ data: { text: long('a') }, omittedChars: expect.any(Number) }]);
  provider.assertDone();
});
