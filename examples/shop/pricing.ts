import type { Hub } from 'hubline';
import { type Agent, createAgent, createDebate, type DebateResult } from 'hubline/agents';
import type { AgentModels } from './models/models.js';
import type { Rule } from './models/rehearsed-model.js';
import { simulateWork } from './simulate.js';

/** Registers questions about prices, which two agents debate and a moderator answers. */
export function registerPricing(hub: Hub, { modelFor }: AgentModels): void {
  const agent = (name: string, systemPrompt: string, rule: Rule): Agent =>
    createAgent({ name, systemPrompt, ...modelFor(rule), tokenBudget: 10_000 });
  const debate = createDebate({
    name: 'pricing',
    participants: [
      agent('growth', 'You want more customers. Two sentences. Write "I agree" once you do.', growth),
      agent('finance', 'You protect the margin. Two sentences. Write "I agree" once you do.', finance),
    ],
    moderator: agent('chair', 'You summarise in three sentences. The last one is a recommendation.', chair),
    stopWhen: ({ contributions }) => contributions.every(({ output }) => output.includes('I agree')),
  });
  hub.event({
    type: 'price.questioned',
    description: 'Should a price change? Two agents debate, and a moderator summarises.',
    handler: debate.asHandler(),
    timeoutMs: 120_000,
    onSuccess: 'price.reviewed',
  });
  hub.event<DebateResult>({
    type: 'price.reviewed',
    description: 'Files the result of the debate.',
    handler: ({ signal }) => simulateWork(signal, 5, 30),
  });
}

const growth: Rule = ({ input }) =>
  isFirstRound(input) ? 'Yes: every other shop does it.' : 'With a minimum order it still wins customers. I agree.';

const finance: Rule = ({ input }) =>
  isFirstRound(input) ? 'Not for free: it costs us 4 euros each.' : 'With a minimum order it pays. I agree.';

const chair: Rule = () => 'Both want it with a minimum order. Recommendation: try it for a month.';

function isFirstRound(input: string): boolean {
  return input.includes('This is round 1');
}
