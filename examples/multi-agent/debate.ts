import { type Agent, createAgent, createDebate, type Debate, type ModelProvider } from 'hubline/agents';

/** Creates a debate between two agents, with a moderator. */
export function createPricingDebate(provider: ModelProvider): Debate {
  const agent = (name: string, systemPrompt: string): Agent =>
    createAgent({ name, systemPrompt, provider, model: { model: 'claude-sonnet-4-5' } });
  return createDebate({
    name: 'pricing',
    participants: [
      agent('growth', 'You want more customers, even at a smaller margin.'),
      agent('finance', 'You protect the margin, and ask what everything costs.'),
    ],
    moderator: agent('chair', 'You summarise fairly, and end with one recommendation.'),
    maxRounds: 3,
    stopWhen: ({ contributions }) => contributions.every(({ output }) => output.includes('I agree')),
  });
}
