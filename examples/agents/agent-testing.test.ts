import { createHub, memoryTransport } from 'hubline';
import { createAgent, ProviderError } from 'hubline/agents';
import { createFakeClock, scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createForecaster } from './agent-tools.js';

test('the agent passes the city on, and answers with what the tool returns', async () => {
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] },
    // Receives the call: here the last message, which is the result of the tool.
    ({ messages }) => `The service says: ${messages.at(-1)?.content}`,
  ]);
  const { output } = await createForecaster(provider).run('Do I need an umbrella in Bergen?');
  expect(output).toBe('The service says: {"city":"Bergen","unit":"celsius","degrees":12,"sky":"rain"}');
  expect(provider.calls[0]?.messages.at(-1)).toMatchObject({ content: 'Do I need an umbrella in Bergen?' });
  expect(provider.calls[0]?.options.tools?.map(({ name }) => name)).toEqual(['weather']);
  provider.assertDone();
});

test('the agent reports a model that stays unavailable, after its retries', async () => {
  const busy = () => new ProviderError('overloaded', { provider: 'openai', retryable: true, retryAfterMs: 1 });
  const provider = scriptedProvider([busy(), busy(), busy()]);
  const { status, error } = await createForecaster(provider).run('Do I need an umbrella?');
  expect([status, error?.message]).toEqual(['failed', 'overloaded']);
  provider.assertDone();
});

test('an event whose agent fails is retried after its delay', async () => {
  const clock = createFakeClock();
  const provider = scriptedProvider([new Error('no route to the vendor'), 'Take one.']);
  const agent = createAgent({ name: 'porter', systemPrompt: 'Be short.', provider, model: { model: 'm' }, clock });
  const hub = createHub({ transport: memoryTransport({ clock }) });
  hub.event({
    type: 'question.asked',
    handler: agent.asHandler(),
    retry: { maxAttempts: 2, initialDelayMs: 60_000, jitter: false },
  });
  await hub.start();
  await hub.emit('question.asked', { input: 'Do I need an umbrella?' });
  await clock.settle();
  expect(provider.calls).toHaveLength(1);
  await clock.advance(60_000);
  expect(await hub.metrics('question.asked')).toMatchObject({ completed: 1, retried: 1 });
  provider.assertDone();
  await hub.stop();
});
