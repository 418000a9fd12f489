import { type Agent, createAgent, createTool } from '../../dist/agents/index.js';

/** Number of turns with a tool call, before the answer. */
export const toolTurns = 5;
/** Number of turns per run. */
export const turnsOfRun: number = toolTurns + 1;

export const name = 'add';
export const description = 'Adds two numbers';

/** Function of the agents' tool. */
export const add = async ({ a, b }: { a: number; b: number }): Promise<{ sum: number }> => ({ sum: a + b });

/** Returns the tool call of a turn, or `undefined` for the final answer. */
export function callOf(turn: number): { id: string; arguments: string } | undefined {
  return turn < toolTurns ? { id: `call_${turn}`, arguments: `{"a":${turn},"b":2}` } : undefined;
}

/** Creates an agent with an instant model. It runs any number of runs at once. */
export function addingAgent(): Agent {
  return createAgent({
    name: 'adder',
    systemPrompt: 'You add.',
    model: { model: 'instant' },
    provider: {
      async chat(messages) {
        const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
        // The system prompt and the input, then two messages per turn.
        const call = callOf((messages.length - 2) / 2);
        if (call === undefined) return { content: 'done', usage, finishReason: 'stop' };
        return {
          content: '',
          toolCalls: [{ id: call.id, name, arguments: call.arguments }],
          usage,
          finishReason: 'tool_calls',
        };
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
}
