import { expect, test } from 'vitest';
import { freePort } from '../scripts/listen-locally.js';
import { startExample } from './testing/start-example.js';

test('runs a workflow and an agent, shows their counts, and exits with 0 on SIGTERM', async () => {
  const example = startExample('minimal.ts', { env: { PORT: String(await freePort()) } });
  const url = await example.url;
  const ticket = async (): Promise<unknown> => (await fetch(`${url}api/events/ticket.opened`)).json();
  await expect.poll(ticket).toMatchObject({ type: 'ticket.opened', received: 1, completed: 1, failed: 0 });
  const introspection = await (await fetch(`${url}api/introspection`)).json();
  expect(introspection).toMatchObject({ workflows: [{ name: 'fulfil', runs: [{ status: 'completed' }] }] });
  const { exitCode, stdout } = await example.stop();
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Shipped a box with a teapot');
});
