import { createHub, type Hub } from 'hubline';
import { createAgent, type ModelProvider } from 'hubline/agents';

/** Creates a hub on which an agent answers each ticket and emits the answer as an event. */
export function createSupportHub(provider: ModelProvider, onAnswer: (answer: string) => void): Hub {
  const agent = createAgent({
    name: 'support',
    systemPrompt: 'You answer customers, in two sentences at most.',
    provider,
    model: { model: 'gemini-2.5-flash' },
  });
  const hub = createHub({ service: 'support' });
  hub.event({
    type: 'ticket.opened',
    handler: agent.asHandler(),
    retry: { maxAttempts: 3 },
    timeoutMs: 60_000,
    onSuccess: 'ticket.answered',
  });
  hub.event<{ output: string }>({ type: 'ticket.answered', handler: ({ payload }) => onAnswer(payload.output) });
  return hub;
}
