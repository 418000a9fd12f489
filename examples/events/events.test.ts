import { expect, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('handles each order and its follow-up events once', async () => {
  const { exitCode, stdout, stderr } = await startExample('events/events.ts').ended;
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout.trim().split('\n').sort()).toEqual([
    '2 received, 2 completed, 1 deduplicated',
    'accepted once: true',
    'mail to ada@example.com',
    'mail to bob@example.com',
    'reserved for A-1, 1 event deep',
    'reserved for A-2, 1 event deep',
  ]);
});
