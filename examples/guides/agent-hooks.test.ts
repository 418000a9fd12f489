import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createSupport } from './agent-hooks.js';

test('code decides about prompt, tools, calls and answers', async () => {
  const provider = scriptedProvider([
    { toolCalls: [{ name: 'find_order', arguments: { order: 'o-1' } }] },
    { toolCalls: [{ name: 'refund', arguments: { order: 'o-1', amount: 80 } }] },
    'The card 4111111111111111 is not charged.',
  ]);
  const { output, toolCalls } = await createSupport(provider).run('Refund o-1', {
    payload: { name: 'Acme', maxRefund: 50 },
  });
  expect(output).toBe('The card [card] is not charged.');
  expect(toolCalls.map(({ error, result }) => error ?? result)).toEqual([
    { order: 'o-1', total: 80 },
    'a person decides about refunds above 50',
  ]);
  const [first, second] = provider.calls;
  expect(first?.messages[0]?.content).toBe('You serve Acme.');
  expect([first?.options.tools?.length, second?.options.tools?.length]).toEqual([1, 2]);
  expect(first?.options.toolChoice).toBe('required');
});
