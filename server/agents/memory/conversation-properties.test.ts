import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../scripts/property-tests.js';
import { createFakeClock } from '../../testing/fake-clock.js';
import { memoryTransport } from '../../transports/memory/memory-transport.js';
import { silentLogger } from '../../transports/transport.js';
import { createAgent } from '../create-agent.js';
import type { Message } from '../model/message.js';
import type { ModelProvider } from '../model/model-provider.js';
import { createTool } from '../tools/tool.js';
import { ConversationMemory } from './conversation-memory.js';
import { expectWellPaired } from './well-paired.fixture.js';

/** One exchange: its turns with their numbers of calls, and the model calls after which an attempt crashes. */
const anyExchange = fc.record({
  turns: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }),
  crashes: fc.array(fc.nat(6), { maxLength: 2 }),
  kind: fc.constantFrom('provider fails', 'attempt is aborted'),
  startsWith: fc.boolean(),
});

/** A model that plans an exchange from its transcript, and fails when the attempt is to crash. */
class PlannedModel implements ModelProvider {
  readonly sent: Message[][] = [];
  readonly turns: readonly number[];
  readonly crashes: number[];
  readonly crash: () => never;

  constructor(turns: readonly number[], crashes: number[], crash: () => never) {
    this.turns = turns;
    this.crashes = crashes;
    this.crash = crash;
  }

  async chat(messages: Message[]) {
    this.sent.push([...messages]);
    const input = messages.findLastIndex(({ role }) => role === 'user');
    const done = messages.slice(input).filter(({ role }) => role === 'assistant').length;
    if (this.crashes[0] === done) {
      this.crashes.shift();
      this.crash();
    }
    const count = this.turns[done];
    const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
    if (count === undefined)
      return { content: `answer to ${messages[input]?.content}`, usage, finishReason: 'stop' as const };
    const toolCalls = Array.from({ length: count }, (_, index) => ({
      id: `call_${index}`,
      name: 'work',
      arguments: `{"turn":${done},"index":${index}}`,
    }));
    return { content: '', toolCalls, usage, finishReason: 'tool_calls' as const };
  }
}

test('any runs, attempts, crashes, concurrent runs and trims leave paired exchanges in order, and repeat nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyExchange, { minLength: 1, maxLength: 6 }),
      fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(1_000)),
      async (exchanges, maxMessages) => {
        const clock = createFakeClock();
        const transport = memoryTransport({ clock }).connect({ service: 's', logger: silentLogger });
        const memory = new ConversationMemory({ transport, maxMessages });
        const executed: string[] = [];
        const converse = async (index: number): Promise<void> => {
          const { turns, crashes, kind } = exchanges[index] ?? { turns: [], crashes: [], kind: '' };
          let controller = new AbortController();
          const model = new PlannedModel(turns, [...new Set(crashes)].sort(), () => {
            if (kind === 'attempt is aborted') controller.abort(new Error('crash'));
            throw new Error('crash');
          });
          const work = createTool({
            name: 'work',
            description: '',
            parameters: {},
            execute: async (input: unknown) => void executed.push(`${index} ${JSON.stringify(input)}`),
          });
          const agent = createAgent({
            name: 'a',
            systemPrompt: '',
            provider: model,
            model: { model: 'm' },
            tools: [work],
            memory,
          });
          for (let attempt = 0; attempt < 5; attempt++) {
            controller = new AbortController();
            const options = { conversationId: 'c', idempotencyKey: `k${index}`, signal: controller.signal };
            const result = await agent.run(`question ${index}`, options).catch(() => undefined);
            if (result?.status === 'completed') {
              expect(result.output).toBe(`answer to question ${index}`);
              break;
            }
          }
          for (const messages of model.sent) {
            expectWellPaired(messages);
            expect(messages.findLast(({ role }) => role === 'user')?.content).toBe(`question ${index}`);
          }
          return;
        };
        const concurrent: Promise<void>[] = [];
        for (const [index, { startsWith }] of exchanges.entries()) {
          if (!startsWith) await Promise.all(concurrent.splice(0));
          concurrent.push(converse(index));
        }
        await Promise.all(concurrent);
        // Every requested call ran exactly once, unless later exchanges pushed an unfinished one out of the store.
        const isKept = maxMessages === 1_000 || exchanges.every(({ startsWith }) => !startsWith);
        if (isKept) expect(new Set(executed).size).toBe(executed.length);
        const stored = await memory.getMessages('a', 'c');
        expectWellPaired(stored);
        expect(stored.length).toBeLessThanOrEqual(maxMessages);
        expect(stored[0]?.role).toBe('user');
        const questions = stored.filter(({ role }) => role === 'user').map(({ content }) => content);
        expect(new Set(questions).size).toBe(questions.length);
        const last = stored.at(-1);
        if (stored.length > 1) expect(last?.content).toBe(`answer to ${questions.at(-1)}`);
      },
    ),
    { numRuns: runs(60) },
  );
});
