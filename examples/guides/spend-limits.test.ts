import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { createSupport, spentBy } from './spend-limits.js';

test('what a tenant spends is counted and limited', async () => {
  const usage = { promptTokens: 2_000, completionTokens: 1_000, totalTokens: 3_000 };
  const hub = createSupport(scriptedProvider([{ content: 'Tomorrow.', usage }]), { logger: false });
  await hub.start();
  await hub.emit('question.asked', { tenant: 'acme', text: 'When?' });
  await expect.poll(async () => (await hub.metrics('question.asked')).completed).toBe(1);
  expect(await spentBy(hub, 'acme')).toBe('acme: $0.0009 spent, $4.9991 left');
  expect(await spentBy(hub, 'umbrella')).toBe('umbrella: $0.0000 spent, $5.0000 left');
  await hub.stop();
});
