import { asLanguageModel, ProviderError } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test, vi } from 'vitest';
import { startHub } from '../testing/start-hub.js';
import { createTravel, describeProduct } from './ai-sdk.js';

test('a journey is planned and booked, and a question is answered', async () => {
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'search', arguments: { to: 'Bergen' } }] },
    { toolCalls: [{ name: 'book', arguments: { flight: 'SK 1' } }] },
    'You fly with SK 1.',
    'At nine.',
  ]);
  const keys: string[] = [];
  const airline = {
    search: async () => [{ flight: 'SK 1', departs: new Date(0) }],
    book: async (flight: string, key: string) => {
      keys.push(key);
      return `booked ${flight}`;
    },
  };
  const hub = await startHub(createTravel(asLanguageModel(provider, 'claude-sonnet-4-5'), airline));
  const run = await hub.startWorkflow('journey', { to: 'Bergen' });
  expect(await run.result()).toBe('You fly with SK 1.');
  expect(keys.map(({ length }) => length)).toEqual([43]);
  await hub.emit('question.asked', { question: 'When?' });
  await vi.waitFor(async () => expect((await hub.metrics('question.answered')).received).toBe(1));
  provider.assertDone();
});

test('the second provider answers while the first one fails', async () => {
  const down = new ProviderError('down', { provider: 'p', retryable: true });
  const first = scriptedProvider([down, down]);
  expect(await describeProduct(first, scriptedProvider(['A fine lamp.']), 'the lamp')).toBe('A fine lamp.');
});
