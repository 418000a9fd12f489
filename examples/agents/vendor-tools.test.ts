import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createResearcher, research } from './vendor-tools.js';

test('the answer names its sources', async () => {
  const provider = scriptedProvider([
    {
      content: 'Born in 1916.',
      vendorCalls: [{ id: 'v1', name: 'web_search', arguments: '{"query":"Shannon"}', result: [] }],
      sources: [{ type: 'url', id: 's1', url: 'https://example.com/shannon', title: 'Claude Shannon' }],
    },
  ]);
  const answer = await research(createResearcher(provider), 'When was Shannon born?');
  expect(answer).toBe(
    "Born in 1916.\n\n1 calls of the vendor's tools. Sources:\n- Claude Shannon: https://example.com/shannon",
  );
  expect(provider.calls[0]?.options.vendorTools).toEqual({ webSearch: { maxUses: 3 }, codeExecution: true });
});
