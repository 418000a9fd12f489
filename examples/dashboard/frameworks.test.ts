import { expect, test } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { expectDashboard } from '../testing/expect-dashboard.js';
import { startExample } from '../testing/start-example.js';

const frameworks = [
  'dashboard/express.ts',
  'dashboard/fastify.ts',
  'dashboard/hono.ts',
  'dashboard/koa.ts',
  'dashboard/nest.ts',
];

test.each(frameworks)('%s serves the dashboard, and exits on SIGTERM', async (file) => {
  const example = startExample(file, { env: { PORT: String(await freePort()) } });
  await expectDashboard(await example.url);
  expect((await example.stop()).exitCode).toBe(0);
});
