import { expect, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('resumes at the interrupted step, with the same idempotency key', async () => {
  const { exitCode, stdout, stderr } = await startExample('workflows/interrupted-workflow.ts').ended;
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout.trim().split('\n')).toEqual([
    'picked, once',
    'released: 1',
    'done: {"order":1}',
    'the carrier was called 2 times with 1 key',
  ]);
});
