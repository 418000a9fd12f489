import { createHub, type Hub } from 'hubline';
import { type Agent, type AgentHandlerResult, createAgent, createPipeline, type ModelProvider } from 'hubline/agents';

/** Creates a hub on which three agents answer each ticket in sequence. */
export function createTicketHub(provider: ModelProvider, onAnswer: (answer: string) => void): Hub {
  const agent = (name: string, systemPrompt: string): Agent =>
    createAgent({ name, systemPrompt, provider, model: { model: 'gpt-4o-mini' }, tokenBudget: 20_000 });
  const hub = createHub({ service: 'support' });
  hub.event<{ input: string }>({ type: 'ticket.opened' });
  hub.event<AgentHandlerResult>({ type: 'ticket.answered', handler: ({ payload }) => onAnswer(payload.output) });
  hub.workflow(
    createPipeline({
      name: 'answer-ticket',
      trigger: 'ticket.opened',
      steps: [
        { agent: agent('triage', 'Say in one sentence what the customer wants.') },
        { agent: agent('draft', 'Write a polite answer, three sentences at most.'), retry: { maxAttempts: 3 } },
        { agent: agent('review', 'Correct the answer. Return nothing but the answer.'), timeoutMs: 60_000 },
      ],
      onSuccess: 'ticket.answered',
    }),
  );
  return hub;
}
