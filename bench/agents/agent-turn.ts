import { Agent, tool as openAiTool, Runner, setTracingDisabled, Usage } from '@openai/agents';
import { tool as aiTool, generateText, type LanguageModel, stepCountIs } from 'ai';
import { z } from 'zod';
import { type Contender, compare } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import type { Row } from '../measuring/row.js';
import { add, addingAgent, callOf, description, name, toolTurns, turnsOfRun } from './adding-agent.js';

const numbers = z.object({ a: z.number(), b: z.number() });

/** Measures a turn of an agent with an instant model: five turns with a tool call each, and an answer. */
export async function agentTurn(): Promise<Row[]> {
  setTracingDisabled(true);
  return compare({
    scenario: `a turn of an agent: ${toolTurns} with a tool call, then an answer`,
    unit: 'us per turn',
    times: 12_000,
    figure: (turnsPerSecond) => 1e6 / turnsPerSecond,
    hubline: hubline(),
    peers: [bareLoop(), aiSdk(), openAiAgents()],
  });
}

/** Returns a function that runs the given number of turns in sequence. */
function turnsOf(runOnce: () => Promise<string>): Contender['run'] {
  return async (turns) => {
    for (let turn = 0; turn < turns; turn += turnsOfRun) {
      if ((await runOnce()) !== 'done') throw new Error('a run gave no answer');
    }
  };
}

/** Bare minimum of a loop: no validation, no limits, no usage. */
function bareLoop(): Contender {
  const run = turnsOf(async () => {
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
  return { name: 'bare loop', run, target: { of: 'figure', limit: 'at most', value: 10 } };
}

function hubline(): Contender['run'] {
  const agent = addingAgent();
  return turnsOf(async () => (await agent.run('Add')).output);
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
  const run = turnsOf(async () => {
    const { text } = await generateText({ model, system: 'You add.', prompt: 'Add', tools, stopWhen: stepCountIs(10) });
    return text;
  });
  return { name: withVersion('ai'), run };
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
  const run = turnsOf(async () => (await runner.run(agent, 'Add')).finalOutput ?? '');
  return { name: withVersion('@openai/agents'), run };
}
