import { expect, test } from 'vitest';
import { freePort } from '../scripts/listen-locally.js';
import { startExample } from './testing/start-example.js';

test('greets, shows the count, and exits with 0 on SIGTERM', async () => {
  const example = startExample('minimal.ts', { env: { PORT: String(await freePort()) } });
  const response = await fetch(`${await example.url}api/events/greeted`);
  await expect(response.json()).resolves.toMatchObject({ type: 'greeted', received: 1, completed: 1, failed: 0 });
  const { exitCode, stdout } = await example.stop();
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Hello, Ada!');
});
