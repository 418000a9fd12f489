import { type Agent, createAgent, createDebate, type Debate, type ModelProvider } from 'hubline/agents';

/** Two agents who disagree, and one who sums up. */
export function createPricingDebate(provider: ModelProvider): Debate {
  const agent = (name: string, systemPrompt: string): Agent =>
    createAgent({ name, systemPrompt, provider, model: { model: 'claude-sonnet-4-5' } });
  return createDebate({
    name: 'pricing',
    participants: [
      agent('growth', 'You want more customers, and accept a smaller margin for it.'),
      agent('finance', 'You watch the margin, and ask what everything costs.'),
    ],
    moderator: agent('chair', 'You sum up fairly, and end with one recommendation.'),
    maxRounds: 3,
    stopWhen: ({ contributions }) => contributions.every(({ output }) => output.includes('I agree')),
  });
}
