import { tool as aiTool, generateText, type LanguageModel, stepCountIs } from 'ai';
import { z } from 'zod';
import type { Contender } from '../measuring/measure.js';
import { withVersion } from '../measuring/peer-version.js';
import { add, addingAgent, callOf, description, name, turnsOfRun } from './adding-agent.js';

/** Parameters of the agents' tool. */
export const numbers = z.object({ a: z.number(), b: z.number() });

/** Returns a function that runs the given number of turns in sequence. */
export function turnsOf(runOnce: () => Promise<string>): Contender['run'] {
  return async (turns) => {
    for (let turn = 0; turn < turns; turn += turnsOfRun) {
      if ((await runOnce()) !== 'done') throw new Error('a run gave no answer');
    }
  };
}

/** Bare minimum of a loop: no validation, no limits, no usage. */
export function bareLoop(): Contender {
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
  return { name: 'bare loop', run };
}

/** Runs an agent of Hubline. */
export function hubline(): Contender['run'] {
  const agent = addingAgent();
  return turnsOf(async () => (await agent.run('Add')).output);
}

/** Runs the AI SDK's loop. */
export function aiSdk(): Contender {
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
