import { expect, test } from 'vitest';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { AgentHandlerResult } from '../agent/agent.js';
import type { PublishedAgentEvent } from '../agent/published-events.js';
import { createAgent } from '../create-agent.js';
import { ConversationMemory } from '../memory/conversation-memory.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createAgentRegistry } from '../multi-agent/delegation.js';
import { createTool } from '../tools/tool.js';
import { DyingProcess } from './dying-process.fixture.js';

const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };

/** Conversation of one exchange per input, in as many processes as die. */
async function converse(
  deaths: readonly number[],
  inputs: readonly string[],
  { isGoneAfter, isDelegated = false }: { isGoneAfter?: number; isDelegated?: boolean } = {},
) {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const host = new DyingProcess(deaths);
  const asked: string[] = [];
  const results: AgentHandlerResult[] = [];
  let processes = 0;
  /** Model that answers with the calls of its agent in order, and then with a text. */
  const modelOf = (name: string, ...calls: { name: string; arguments: object }[]): ModelProvider => ({
    async chat(messages) {
      await host.act();
      const input = messages.findLast(({ role }) => role === 'user')?.content;
      asked.push(`${name} ${messages[0]?.content} ${input} ${messages.length}`);
      const called = messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.name));
      const next = calls.find((call) => !called.includes(call.name));
      if (next === undefined) return { content: `${name} is done`, usage, finishReason: 'stop' };
      const call = { id: '', name: next.name, arguments: JSON.stringify(next.arguments) };
      return { content: '', toolCalls: [call], usage, finishReason: 'tool_calls' };
    },
  });
  const paid: string[] = [];
  async function start(): Promise<Hub> {
    processes += 1;
    const hub = createHub({ transport });
    const memory = new ConversationMemory({ transport: hub.transport });
    const registry = createAgentRegistry();
    const agentOf = (name: string, provider: ModelProvider) =>
      createAgent({
        name,
        systemPrompt: async () => {
          await host.act();
          return `${name}:`;
        },
        provider,
        model: { model: 'm' },
        memory,
        registry,
        tokenBudget: 1_000,
        clock,
        tools: [
          createTool({
            name: 'pay',
            description: '',
            parameters: {},
            async execute() {
              await host.act();
              paid.push(name);
            },
          }),
        ],
      });
    const handoff = { name: 'handoff', arguments: { agentName: 'billing' } };
    const triage = agentOf('triage', modelOf('triage', handoff));
    const billing = agentOf('billing', modelOf('billing', { name: 'pay', arguments: {} }));
    if (isGoneAfter === undefined || processes <= isGoneAfter) registry.register(billing, { handoff: true });
    const order = { name: 'delegate', arguments: { agentName: 'triage', input: 'help' } };
    const boss = agentOf('boss', modelOf('boss', order));
    if (isDelegated) registry.register(triage);
    hub.event<string>({
      type: 'asked',
      key: () => 'chat',
      concurrencyPerKey: 1,
      handler: (isDelegated ? boss : triage).asHandler({ publish: true }),
      onSuccess: 'answered',
    });
    hub.event<AgentHandlerResult>({ type: 'answered', handler: ({ payload }) => void results.push(payload) });
    await hub.start();
    return hub;
  }
  let hub = await start();
  const ids: string[] = [];
  for (const input of inputs) ids.push((await hub.emit('asked', input)).id);
  for (let round = 0; results.length < inputs.length && round < 50; round++) {
    await clock.settle();
    if (isGoneAfter !== undefined && (await hub.metrics('asked')).failed > 0) break;
    if (!host.isDead) continue;
    await hub.stop({ drainMs: 0 });
    host.restart();
    hub = await start();
  }
  const published: PublishedAgentEvent[] = [];
  const [id] = ids;
  if (id !== undefined && isGoneAfter === undefined) {
    for await (const entry of hub.stream(id)) {
      if (entry.type === 'data') published.push(entry.data as PublishedAgentEvent); // of the agents alone
    }
  }
  const run = id === undefined ? undefined : await hub.getRun('asked', id);
  const shown = [...(await hub.agentRuns('triage')), ...(await hub.agentRuns('billing'))].filter(
    (each) => each.id === id,
  );
  const parts = shown.map(({ turns, toolCalls, usage: { totalTokens } }) => ({ turns, toolCalls, totalTokens }));
  const [failed] = (await hub.find(ids[0] ?? '')).map(({ error }) => error);
  await hub.stop({ drainMs: 0 });
  return { asked, paid, results, published, run, parts, failed };
}

test.each([[[]], ...Array.from({ length: 8 }, (_, action) => [[action]]), [[2, 3, 5]], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]])(
  'the agent that took a conversation over continues its run after deaths at %j',
  async (deaths) => {
    const { asked, paid, results, published, run, parts } = await converse(deaths, ['refund me', 'thanks']);
    expect(asked).toEqual([
      'triage triage: refund me 2',
      'billing billing: refund me 4',
      'billing billing: refund me 6',
      'billing billing: thanks 8',
    ]);
    expect(paid).toEqual(['billing']);
    expect(results).toMatchObject([
      { agentName: 'billing', output: 'billing is done', tokenUsage: { totalTokens: 45 } },
      { agentName: 'billing', output: 'billing is done', tokenUsage: { totalTokens: 15 } },
    ]);
    expect(run?.steps.flatMap(({ turn }) => turn?.agent ?? [])).toEqual(['triage', 'billing', 'billing']);
    expect(parts).toEqual([
      { turns: 1, toolCalls: 1, totalTokens: 15 },
      { turns: 2, toolCalls: 1, totalTokens: 30 },
    ]);
    const shown = published.flatMap(({ agent, type, turn }) => (type === 'turn-end' ? [`${agent} ${turn}`] : []));
    expect(shown).toEqual(['triage 1', 'billing 2', 'billing 3']);
    expect(published).toContainEqual({ agent: 'triage', type: 'handoff', turn: 1, from: 'triage', to: 'billing' });
  },
);

test('a run whose agent is not registered for handoffs any more fails, and names it', async () => {
  const { failed, asked } = await converse([2], ['refund me'], { isGoneAfter: 1 });
  expect(asked).toEqual(['triage triage: refund me 2']);
  expect(failed?.message).toContain('agent "billing" is not registered');
});

test.each(Array.from({ length: 10 }, (_, action) => [action]))(
  'a delegate whose run was handed over continues with the right agent after a death at %j',
  async (death) => {
    const { asked, paid, results, run } = await converse([death], ['refund me'], { isDelegated: true });
    expect(asked).toEqual([
      'boss boss: refund me 2',
      'triage triage: help 2',
      'billing billing: help 4',
      'billing billing: help 6',
      'boss boss: refund me 4',
    ]);
    expect(paid).toEqual(['billing']);
    expect(results).toMatchObject([{ agentName: 'boss', output: 'boss is done', tokenUsage: { totalTokens: 75 } }]);
    expect(run?.steps.flatMap(({ turn }) => turn?.agent ?? [])).toEqual([
      'boss',
      'triage',
      'billing',
      'billing',
      'boss',
    ]);
  },
);
