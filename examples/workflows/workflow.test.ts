import { expect, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('runs its steps in sequence and prints the result', async () => {
  const { exitCode, stdout, stderr } = await startExample('workflows/workflow.ts').ended;
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual({
    order: { items: ['teapot', 'cup'] },
    tracking: expect.stringMatching(/^2 x hub:.+:ship$/),
  });
});
