import { expect, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('packs, invoices, waits for the confirmation, sleeps and prints the result', async () => {
  const { exitCode, stdout, stderr } = await startExample('workflows/run-function.ts').ended;
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual({
    status: 'shipped',
    parcels: ['box of teapot', 'box of cup'],
    number: 'I-7',
    by: 'Ada',
  });
});
