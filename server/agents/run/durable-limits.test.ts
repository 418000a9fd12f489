import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createHub } from '../../hub/create-hub.js';
import type { Hub } from '../../hub/hub.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import type { AgentHandlerResult } from '../agent/agent.js';
import { createAgent } from '../create-agent.js';
import type { ModelProvider } from '../model/model-provider.js';
import { costOf } from '../model/price.js';
import { ProviderError } from '../model/provider-error.js';
import type { TokenUsage } from '../model/token-usage.js';
import { fallbackProvider } from '../providers/fallback-provider.js';
import { createTool } from '../tools/tool.js';
import { DyingProcess } from './dying-process.fixture.js';

const prices = { cheap: { input: 1_000_000, output: 2_000_000 }, dear: { input: 3_000_000, output: 10_000_000 } };
const turnOf = fc.record({
  /** Number of calls of the tool. */
  calls: fc.integer({ min: 1, max: 3 }),
  promptTokens: fc.integer({ min: 50, max: 90 }),
  completionTokens: fc.integer({ min: 1, max: 60 }),
});

/** Turns of a model, its limits, actions at which the process dies, and which calls of a vendor fail. */
const story = fc.record({
  turns: fc.array(turnOf, { minLength: 1, maxLength: 6 }),
  maxIterations: fc.integer({ min: 1, max: 7 }),
  maxToolCalls: fc.integer({ min: 1, max: 12 }),
  tokenBudget: fc.option(fc.integer({ min: 60, max: 700 }), { nil: undefined }),
  costBudget: fc.option(fc.integer({ min: 60, max: 2_000 }), { nil: undefined }),
  deaths: fc.uniqueArray(fc.nat(24), { maxLength: 6 }),
  outages: fc.array(fc.boolean(), { maxLength: 24 }),
});

interface PaidTurn {
  readonly turn: number;
  readonly prompt: number;
  readonly cost: number;
  readonly promptCost: number;
  readonly tokens: number;
}

/** Handles one event with an agent, in as many processes and attempts as the story needs. */
async function tell({ turns, deaths, outages, ...limits }: typeof story extends fc.Arbitrary<infer T> ? T : never) {
  const clock = createFakeClock();
  const transport = memoryTransport({ clock });
  const host = new DyingProcess(deaths);
  const paid: PaidTurn[] = [];
  const executed: number[] = [];
  const results: AgentHandlerResult[] = [];
  let asked = 0;
  const vendor = (model: keyof typeof prices): ModelProvider => ({
    async chat(messages, { maxTokens = Number.POSITIVE_INFINITY }) {
      await host.act();
      if (outages[asked++])
        throw new ProviderError('overloaded', { provider: model, statusCode: 503, retryable: true });
      const turn = messages.filter(({ role }) => role === 'assistant').length;
      const { calls, promptTokens, completionTokens: wanted } = turns[turn % turns.length] ?? noTurn;
      const completionTokens = Math.min(wanted, maxTokens);
      const usage: TokenUsage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
      const promptCost = costOf({ ...usage, completionTokens: 0 }, prices[model]);
      paid.push({
        turn,
        prompt: promptTokens,
        tokens: usage.totalTokens,
        cost: costOf(usage, prices[model]),
        promptCost,
      });
      if (turn >= turns.length) return { content: 'done', usage, finishReason: 'stop' };
      const toolCalls = Array.from({ length: calls }, (_, index) => ({
        id: '',
        name: 'work',
        arguments: JSON.stringify({ n: turn * 10 + index }),
      }));
      return { content: '', toolCalls, usage, finishReason: 'tool_calls' };
    },
  });
  const work = createTool({
    name: 'work',
    description: '',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    execute: async ({ n }: { n: number }) => {
      await host.act();
      executed.push(n);
      return n;
    },
  });
  async function start(): Promise<Hub> {
    const hub = createHub({ transport });
    const agent = createAgent({
      name: 'a',
      systemPrompt: '',
      provider: fallbackProvider([
        { provider: vendor('cheap') },
        { provider: vendor('dear'), model: { model: 'dear' } },
      ]),
      model: { model: 'cheap' },
      tools: [work],
      prices,
      maxRepeats: 100,
      clock,
      maxIterations: limits.maxIterations,
      maxToolCalls: limits.maxToolCalls,
      ...(limits.tokenBudget !== undefined && { tokenBudget: limits.tokenBudget }),
      ...(limits.costBudget !== undefined && { costBudget: limits.costBudget }),
    });
    const retry = { maxAttempts: 50, initialDelayMs: 1_000, maxDelayMs: 1_000 };
    hub.event({ type: 'asked', handler: agent.asHandler(), retry, onSuccess: 'answered' });
    hub.event<AgentHandlerResult>({ type: 'answered', handler: ({ payload }) => void results.push(payload) });
    await hub.start();
    return hub;
  }
  let hub = await start();
  await hub.emit('asked', 'go');
  let failed = 0;
  for (let round = 0; results.length + failed === 0 && round < 100; round++) {
    await clock.advance(1_000);
    if (host.isDead) {
      await hub.stop({ drainMs: 0 });
      host.restart();
      hub = await start();
    }
    failed = (await hub.metrics('asked')).failed;
  }
  const [deadLetter] = await hub.deadLetters('asked');
  await hub.stop({ drainMs: 0 });
  return { paid, executed, result: results[0], message: deadLetter?.message };
}

const noTurn = { calls: 0, promptTokens: 0, completionTokens: 0 };
const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

test('whatever dies and whichever vendor fails, a run keeps its limits over all attempts and pays no turn twice', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (given) => {
      const { paid, executed, result, message } = await tell(given);
      const { tokenBudget = Number.POSITIVE_INFINITY, costBudget = Number.POSITIVE_INFINITY } = given;
      expect(paid.map(({ turn }) => turn)).toEqual(paid.map((_, index) => index));
      expect(new Set(executed).size).toBe(executed.length);
      expect(executed.length).toBeLessThanOrEqual(given.maxToolCalls);
      expect(paid.length).toBeLessThanOrEqual(given.maxIterations);

      const tokens = sumOf(paid.map(({ tokens: ofTurn }) => ofTurn));
      const cost = sumOf(paid.map(({ cost: ofTurn }) => ofTurn));
      const last = paid.at(-1);
      expect(tokens - tokenBudget).toBeLessThanOrEqual(last?.prompt ?? 0);
      expect(cost - costBudget).toBeLessThanOrEqual((last?.promptCost ?? 0) + 1e-6);

      if (result !== undefined) {
        expect(message).toBeUndefined();
        expect(paid).toHaveLength(given.turns.length + 1);
        expect(result).toMatchObject({ output: 'done', tokenUsage: { totalTokens: tokens } });
        expect(result.tokenUsage.cost).toBeCloseTo(cost, 6);
        expect(tokens).toBeLessThanOrEqual(tokenBudget);
        expect(cost).toBeLessThanOrEqual(costBudget + 1e-6);
      } else if (message?.includes('max_iterations')) {
        expect(paid).toHaveLength(given.maxIterations);
      } else {
        expect(message).toContain('token_budget_exceeded');
        expect(Number.isFinite(Math.min(tokenBudget, costBudget))).toBe(true);
      }
    }),
    { numRuns: runs(100) },
  );
});
