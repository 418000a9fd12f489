import { createAgent, fallbackProvider, ProviderError } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';

const busy = scriptedProvider([new ProviderError('overloaded', { provider: 'first', retryable: true })]);
const calm = scriptedProvider(['It leaves tomorrow.']);
const agent = createAgent({
  name: 'support',
  systemPrompt: 'You answer customers.',
  provider: fallbackProvider([{ provider: busy }, { provider: calm, model: { model: 'second' } }]),
  model: { model: 'first' },
});
const { status, output } = await agent.run('When does my order leave?');
console.log(`${status}: ${output}`, busy.calls.length, calm.calls[0]?.options.model);
