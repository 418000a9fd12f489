import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createPricingDebate } from './debate.js';

test('the debate ends when all agree, and the chair summarises', async () => {
  const provider = scriptedProvider([
    'Free delivery wins customers.',
    'It costs 4 euros per order.',
    'Above 50 euros, then. I agree.',
    'That pays. I agree.',
    'Recommendation: free delivery above 50 euros.',
  ]);
  const { rounds, output, tokenUsage } = await createPricingDebate(provider).run('Should delivery be free?');
  expect(rounds.map(({ contributions }) => contributions.map(({ agentName }) => agentName))).toEqual([
    ['growth', 'finance'],
    ['growth', 'finance'],
  ]);
  expect(output).toBe('Recommendation: free delivery above 50 euros.');
  expect(tokenUsage.totalTokens).toBe(75);
  provider.assertDone();
});
