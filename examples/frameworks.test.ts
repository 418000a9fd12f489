import { getDashboardHtml } from 'hubline';
import { expect, test } from 'vitest';
import { freePort, startExample } from './testing/start-example.js';

test.each(['express.ts', 'fastify.ts', 'hono.ts', 'koa.ts', 'own-policy.ts'])(
  '%s serves the dashboard',
  { timeout: 30_000 },
  async (file) => {
    const example = startExample(file, { env: { PORT: String(await freePort()) } });
    const url = await example.url;
    for (const pageUrl of [url, `${url}/`]) {
      const page = await fetch(pageUrl);
      expect((await page.text()) === getDashboardHtml(), pageUrl).toBe(true);
    }
    const introspection = await fetch(`${url}/api/introspection`);
    await expect(introspection.json()).resolves.toMatchObject({ protocol: 1, hub: { service: 'hub' } });
    expect((await fetch(`${url}-elsewhere`)).status).toBe(404);
    expect((await example.stop()).exitCode).toBe(0);
  },
);
