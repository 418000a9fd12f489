import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { type ScriptEntry, scriptedProvider } from '../../testing/scripted-provider.js';
import { createAgent } from '../create-agent.js';
import { expectWellPaired } from '../memory/well-paired.fixture.js';
import { noUsage, type TokenUsage } from '../model/token-usage.js';

const anyCall = fc.record({
  id: fc.constantFrom('a', 'b', '', 'constructor'),
  name: fc.constantFrom('work', 'fail', 'unknown', '__proto__', 'circular'),
  arguments: fc.constantFrom('{"n":1}', '{"n":2}', '{"n":"x"}', '{"n":', '', 'null', '[]'),
});

const anyUsage = fc.option(
  fc.tuple(fc.nat(50), fc.nat(50)).map(([promptTokens, completionTokens]) => {
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }),
);

const anyAnswer: fc.Arbitrary<ScriptEntry> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(new Error('provider down')) },
  {
    weight: 6,
    arbitrary: fc.record({
      content: fc.constantFrom('', ' ', 'text'),
      toolCalls: fc.array(anyCall, { maxLength: 4 }),
      usage: anyUsage,
      finishReason: fc.constantFrom('stop', 'tool_calls', 'length'),
    }),
  },
);

const anyConfig = fc.record({
  maxIterations: fc.integer({ min: 1, max: 6 }),
  finalAnswerTurn: fc.boolean(),
  maxRepeats: fc.integer({ min: 2, max: 5 }),
  tokenBudget: fc.constantFrom(undefined, 100, 400),
});

test.each(['run', 'stream'] as const)('whatever a model answers, the guarantees of %s hold', async (method) => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyAnswer, { maxLength: 8 }), anyConfig, async (script, { tokenBudget, ...config }) => {
      const provider = scriptedProvider(script);
      const reported: TokenUsage[] = [];
      let carriedOut = 0;
      const parameters = { type: 'object', properties: { n: { type: 'number' } } };
      const tool = (name: string, execute: () => Promise<unknown>) => ({
        name,
        description: '',
        parameters,
        execute: () => {
          carriedOut++;
          return execute();
        },
      });
      const circular: Record<string, unknown> = {};
      circular['self'] = circular;
      const agent = createAgent({
        name: 'a',
        systemPrompt: 's',
        provider,
        model: { model: 'm' },
        tools: [
          tool('work', async () => 'done'),
          tool('fail', async () => {
            throw new Error('no');
          }),
          tool('circular', async () => circular),
        ],
        onTokenUsage: (usage) => reported.push(usage),
        ...config,
        ...(tokenBudget !== undefined && { tokenBudget }),
      });

      const result = method === 'run' ? await agent.run('x') : await agent.stream('x').result;

      const { messages, toolCalls, status, tokenUsage, output, error } = result;
      expectWellPaired(messages);
      const asked = messages.flatMap(({ toolCalls: calls = [] }) => calls);
      expect(new Set(asked.map(({ id }) => id)).size).toBe(asked.length);
      expect(toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(asked.map(({ id }) => id));
      expect(carriedOut).toBeLessThanOrEqual(asked.length);
      expect(
        messages.filter(({ role, content, toolCalls: calls }) => role === 'assistant' && !content && !calls),
      ).toEqual([]);

      const sum = noUsage();
      for (const usage of reported) {
        sum.promptTokens += usage.promptTokens;
        sum.completionTokens += usage.completionTokens;
        sum.totalTokens += usage.totalTokens;
      }
      expect(tokenUsage).toMatchObject(sum);
      expect(tokenUsage.estimated === true).toBe(reported.some(({ estimated }) => estimated));
      expect(reported.every(({ totalTokens }) => totalTokens > 0)).toBe(true);

      expect(status === 'failed').toBe(error !== undefined);
      if (status === 'completed') expect(output).toBe(messages.at(-1)?.content);
      if (status === 'max_iterations') {
        expect(provider.calls.length).toBe(config.maxIterations + (config.finalAnswerTurn ? 1 : 0));
      }
      if (status === 'token_budget_exceeded') expect(tokenBudget).toBeDefined();
      else if (status !== 'failed') expect(tokenUsage.totalTokens).toBeLessThanOrEqual(tokenBudget ?? Infinity);
      expect(provider.calls.length).toBeLessThanOrEqual(config.maxIterations + 1);
    }),
    { numRuns: runs(150) },
  );
});
