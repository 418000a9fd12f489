import type { ModelAgent } from 'hubline/agents';

/** Writes an agent's answer as it arrives, with a line per tool call, and returns the number of tokens. */
export async function answerTo(
  terminal: { write(text: string): unknown },
  agent: ModelAgent,
  question: string,
): Promise<number> {
  const stream = agent.stream(question);
  for await (const event of stream) {
    if (event.type === 'text-delta') terminal.write(event.text);
    if (event.type === 'tool-call') terminal.write(`\n> ${event.toolCall.name} ${event.toolCall.arguments}\n`);
  }
  terminal.write('\n');
  const { tokenUsage } = await stream.result;
  return tokenUsage.totalTokens;
}
