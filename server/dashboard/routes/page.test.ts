import { createHash } from 'node:crypto';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createDashboardHandler, dashboardCspHashes, getDashboardHtml } from '../index.js';
import { startTestHub } from '../test-hub.fixture.js';
import { serve } from '../test-server.fixture.js';

async function servePage() {
  const { hub } = await startTestHub();
  return serve(createDashboardHandler(hub));
}

describe('the page', () => {
  it.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip;q=1, br;q=0.1', 'br', brotliDecompressSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
    ['gzip', 'gzip', gunzipSync],
    ['identity', undefined, (body: Buffer) => body],
    ['gzip;q=0', undefined, (body: Buffer) => body],
  ])('is sent for Accept-Encoding %j as %j', async (accepted, coding, decode) => {
    const server = await servePage();
    const reply = await server.get('/', { 'accept-encoding': accepted });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-length': `${reply.body.length}`,
      'cache-control': 'no-cache',
      vary: 'Accept-Encoding',
    });
    expect(reply.headers['content-encoding']).toBe(coding);
    expect(decode(reply.body).toString()).toBe(getDashboardHtml());
  });

  it('is not sent again to a client that has it, and each encoding has its own strong tag', async () => {
    const server = await servePage();
    const tags = new Set<string>();
    for (const accepted of ['br', 'gzip', 'identity']) {
      const { etag = '' } = (await server.get('/', { 'accept-encoding': accepted })).headers;
      expect(etag).toMatch(/^"[\w-]+"$/);
      tags.add(etag);
      const again = await server.get('/', { 'accept-encoding': accepted, 'if-none-match': `"old", W/${etag}` });
      expect(again.status).toBe(304);
      expect(again.body).toHaveLength(0);
      expect(again.headers).toMatchObject({ etag, vary: 'Accept-Encoding', 'cache-control': 'no-cache' });
      expect(again.headers).not.toHaveProperty('content-encoding');
    }
    expect(tags.size).toBe(3);
  });

  it('is not sent for If-None-Match: *', async () => {
    const server = await servePage();
    expect((await server.get('/', { 'if-none-match': '*' })).status).toBe(304);
  });

  it('contains exactly the scripts and styles that the policy allows', async () => {
    const server = await servePage();
    const reply = await server.get('/');
    const html = reply.body.toString();
    const hashes = (element: string) =>
      [...html.matchAll(new RegExp(`<${element}\\b[^>]*>([\\s\\S]*?)</${element}>`, 'g'))].map(
        ([, content = '']) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`,
      );
    expect(dashboardCspHashes).toEqual({ script: hashes('script'), style: hashes('style') });
    expect(reply.headers['content-security-policy']).toBe(
      `default-src 'none'; script-src ${hashes('script').join(' ')}; style-src ${hashes('style').join(' ')}; ` +
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors 'none'",
    );
  });
});
