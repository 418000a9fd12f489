import { createAgent, type ModelProvider, type Tool } from 'hubline/agents';

/** Runs an agent, and asks on the terminal before each call that needs approval. Returns the answer. */
export async function runWithConfirmation(
  provider: ModelProvider,
  tools: Tool[],
  question: string,
  confirm: (text: string) => Promise<boolean>,
): Promise<string> {
  const agent = createAgent({ name: 'shell', systemPrompt: 'You help.', provider, model: { model: 'm' }, tools });
  const result = await agent.run(question, {
    onApproval: async ({ tool, arguments: input }) => ({
      approved: await confirm(`${tool} ${JSON.stringify(input)}?`),
    }),
  });
  return result.output;
}
