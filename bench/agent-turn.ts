import { Agent, tool as openAiTool, Runner, setTracingDisabled, Usage } from '@openai/agents';
import { tool as aiTool, generateText, type LanguageModel, stepCountIs } from 'ai';
import { z } from 'zod';
import { createAgent, createTool } from '../dist/agents/index.js';
import { type Contender, type Figure, measure } from './measure.js';

const toolTurns = 5;
const turnsOfRun = toolTurns + 1;
const turns = 12_000;

const name = 'add';
const description = 'Adds two numbers';
const numbers = z.object({ a: z.number(), b: z.number() });
const add = async ({ a, b }: { a: number; b: number }): Promise<{ sum: number }> => ({ sum: a + b });

/** Turns a second with a model that answers at once: five turns with a tool call each, and an answer. */
export async function agentTurn(): Promise<Figure[]> {
  setTracingDisabled(true);
  const contenders = [bareLoop(), hubline(), aiSdk(), openAiAgents()];
  return measure(contenders, turns);
}

/** What the model says in a turn: a call, or after five of them an answer. */
function callOf(turn: number): { id: string; arguments: string } | undefined {
  return turn < toolTurns ? { id: `call_${turn}`, arguments: `{"a":${turn},"b":2}` } : undefined;
}

function contender(contenderName: string, runOnce: () => Promise<string>): Contender {
  return {
    name: contenderName,
    async run(count) {
      for (let turn = 0; turn < count; turn += turnsOfRun) {
        if ((await runOnce()) !== 'done') throw new Error(`${contenderName} gave no answer`);
      }
    },
  };
}

/** The least that a loop can do: no checks, no limits, no usage. */
function bareLoop(): Contender {
  return contender('bare loop', async () => {
    const messages: object[] = [];
    const ask = async (turn: number) => ({ content: 'done', call: callOf(turn) });
    for (let turn = 0; ; turn++) {
      const { content, call } = await ask(turn);
      messages.push({ role: 'assistant', content, call });
      if (call === undefined) return content;
      const result = await add(JSON.parse(call.arguments));
      messages.push({ role: 'tool', id: call.id, content: JSON.stringify(result) });
    }
  });
}

function hubline(): Contender {
  let turn = 0;
  const agent = createAgent({
    name: 'adder',
    systemPrompt: 'You add.',
    model: { model: 'instant' },
    provider: {
      async chat() {
        const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
        const call = callOf(turn++ % turnsOfRun);
        if (call === undefined) return { content: 'done', usage, finishReason: 'stop' };
        return { content: '', toolCalls: [{ ...call, name }], usage, finishReason: 'tool_calls' };
      },
    },
    tools: [
      createTool({
        name,
        description,
        parameters: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number' } },
          required: ['a', 'b'],
        },
        execute: add,
      }),
    ],
  });
  return contender('hubline', async () => (await agent.run('Add')).output);
}

function aiSdk(): Contender {
  let turn = 0;
  const model: Exclude<LanguageModel, string> = {
    specificationVersion: 'v3',
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    async doGenerate() {
      const call = callOf(turn++ % turnsOfRun);
      return {
        content: [
          call === undefined
            ? { type: 'text', text: 'done' }
            : { type: 'tool-call', toolCallId: call.id, toolName: name, input: call.arguments },
        ],
        finishReason: { unified: call === undefined ? 'stop' : 'tool-calls', raw: undefined },
        usage: {
          inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 5, text: 5, reasoning: 0 },
        },
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error('not used')),
  };
  const tools = { add: aiTool({ description, inputSchema: numbers, execute: add }) };
  return contender('ai', async () => {
    const { text } = await generateText({ model, system: 'You add.', prompt: 'Add', tools, stopWhen: stepCountIs(10) });
    return text;
  });
}

function openAiAgents(): Contender {
  let turn = 0;
  const agent = new Agent({
    name: 'adder',
    instructions: 'You add.',
    tools: [openAiTool({ name, description, parameters: numbers, execute: add })],
    model: {
      async getResponse() {
        const call = callOf(turn++ % turnsOfRun);
        return {
          usage: new Usage({ inputTokens: 10, outputTokens: 5, totalTokens: 15, requests: 1 }),
          output: [
            call === undefined
              ? {
                  type: 'message',
                  role: 'assistant',
                  status: 'completed',
                  content: [{ type: 'output_text', text: 'done' }],
                }
              : { type: 'function_call', callId: call.id, name, status: 'completed', arguments: call.arguments },
          ],
        };
      },
      getStreamedResponse: () => {
        throw new Error('not used');
      },
    },
  });
  const runner = new Runner({ tracingDisabled: true });
  return contender('@openai/agents', async () => (await runner.run(agent, 'Add')).finalOutput ?? '');
}

if (import.meta.filename === process.argv[1]) {
  for (const { name: contenderName, eventsPerSecond } of await agentTurn()) {
    console.log(`${contenderName.padEnd(16)}${(1e6 / eventsPerSecond).toFixed(1).padStart(8)} us a turn`);
  }
}
