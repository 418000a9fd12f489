import type { Message, ModelProvider, ModelResponse } from 'hubline/agents';
import { simulateWork } from '../simulate.js';

/** Input of an agent, and the results of its tool calls since then, in order. */
export interface Asked {
  readonly input: string;
  readonly results: readonly string[];
}

/** Tool call of a scripted answer. */
export interface RehearsedCall {
  readonly name: string;
  readonly arguments: object;
}

/** Returns the answer of an agent: a text, or a tool call. */
export type Rule = (asked: Asked) => string | RehearsedCall;

const charactersPerToken = 4;

/** Creates a provider that answers by a rule, in about the time that a model takes. */
export function rehearsedModel(rule: Rule): ModelProvider {
  let calls = 0;
  return {
    async chat(messages, { signal }): Promise<ModelResponse> {
      await simulateWork(signal, 150, 1_200);
      const answer = rule(readInput(messages));
      const usage = usageOf(JSON.stringify(messages), JSON.stringify(answer));
      if (typeof answer === 'string') return { content: answer, usage, finishReason: 'stop' };
      calls += 1;
      const call = { id: `call_${calls}`, name: answer.name, arguments: JSON.stringify(answer.arguments) };
      return { content: '', toolCalls: [call], usage, finishReason: 'tool_calls' };
    },
  };
}

function readInput(messages: readonly Message[]): Asked {
  const inputAt = messages.findLastIndex(({ role }) => role === 'user');
  const results = messages.slice(inputAt + 1).filter(({ role }) => role === 'tool');
  return { input: messages[inputAt]?.content ?? '', results: results.map(({ content }) => content) };
}

function usageOf(prompt: string, answer: string): ModelResponse['usage'] {
  const promptTokens = Math.ceil(prompt.length / charactersPerToken);
  const completionTokens = Math.ceil(answer.length / charactersPerToken);
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
}
