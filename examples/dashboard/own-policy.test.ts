import { getDashboardHtml } from 'hubline';
import { expect, test } from 'vitest';
import { freePort } from '../../scripts/listen-locally.js';
import { startExample } from '../testing/start-example.js';

test('serves the page with its own policy, and the JSON routes', async () => {
  const example = startExample('dashboard/own-policy.ts', { env: { PORT: String(await freePort()) } });
  const url = await example.url;
  const page = await fetch(url);
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; connect-src 'self'; .*'sha256-/);
  expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  expect((await page.text()) === getDashboardHtml()).toBe(true);
  const introspection = await fetch(`${url}/api/introspection`);
  await expect(introspection.json()).resolves.toMatchObject({ protocol: 2, hub: { service: 'hub' } });
  expect((await example.stop()).exitCode).toBe(0);
});
