import { getDashboardHtml } from 'hubline';
import { expect } from 'vitest';

/** Expects the dashboard of an example's hub below a URL without a trailing slash, and 404 elsewhere. */
export async function expectDashboard(url: string): Promise<void> {
  for (const pageUrl of [url, `${url}/`]) {
    const page = await fetch(pageUrl);
    expect((await page.text()) === getDashboardHtml(), pageUrl).toBe(true);
  }
  const introspection = await fetch(`${url}/api/introspection`);
  await expect(introspection.json()).resolves.toMatchObject({ protocol: 2, events: [{ type: 'order.created' }] });
  const event = await fetch(`${url}/api/events/order.created`);
  await expect(event.json()).resolves.toMatchObject({ type: 'order.created', failed: 0 });

  for (const path of ['/api/events/no.such', '/nothing', '-elsewhere']) {
    expect((await fetch(url + path)).status, path).toBe(404);
  }
  for (const path of ['', '/api/introspection', '/nothing']) {
    const refused = await fetch(url + path, { method: 'POST', body: '{}' });
    expect([path, refused.status, refused.headers.get('allow')]).toEqual([path, 405, 'GET']);
  }
}
