import { expect, test } from 'vitest';
import { startExample } from '../testing/start-example.js';

test('shows the failure without the address', async () => {
  expect(await startExample('dashboard/redact.ts').ended).toMatchObject({
    exitCode: 0,
    stdout: 'the mailbox of [address] is full\n',
  });
});
