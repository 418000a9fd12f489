import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { getDashboardHtml } from '../server/dashboard/index.js';
import { embedPage } from './embed-page.js';

const html = '<!doctype html>\n<style>a{}</style><script>"日本 \\u2028 $& `"</script>\n';

/** The constants of a generated module. */
function constantsOf(source: string): Record<string, unknown> {
  const lines = [...source.matchAll(/^export const (\w+): [^=]+ = (.*);$/gm)];
  return Object.fromEntries(lines.map(([, name = '', json = '']) => [name, JSON.parse(json)]));
}

function cspHash(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

describe('embedPage', () => {
  it('makes a module that holds the page, its hashes and its compressed forms', () => {
    const { source, bytes } = embedPage(html);
    const { gzip, brotli, ...rest } = constantsOf(source);
    expect(rest).toEqual({
      html,
      digest: createHash('sha256').update(html).digest('base64url'),
      scriptHashes: [cspHash('"日本 \\u2028 $& `"')],
      styleHashes: [cspHash('a{}')],
    });
    expect(gunzipSync(Buffer.from(`${gzip}`, 'base64')).toString()).toBe(html);
    expect(brotliDecompressSync(Buffer.from(`${brotli}`, 'base64')).toString()).toBe(html);
    expect(bytes.html).toBe(Buffer.byteLength(html));
  });

  it('makes the same of a page with other line ends, since browsers do too', () => {
    expect(embedPage(html.replaceAll('\n', '\r\n'))).toEqual(embedPage(html));
  });

  it('refuses a page over 35,000 bytes gzipped', () => {
    const weighing = (bytes: number): string =>
      `<style>a{}</style><script>${randomBytes(bytes).toString('latin1').replace(/[<\r]/g, ' ')}</script>`;
    expect(() => embedPage(weighing(15_000))).not.toThrow();
    expect(() => embedPage(weighing(40_000))).toThrow(
      /^the page is \d+ bytes gzipped, over its 35000: make it smaller$/,
    );
  });

  it('makes the module that the dashboard serves from of the page that it serves', () => {
    const module = new URL('../server/dashboard/html.generated.ts', import.meta.url);
    expect(embedPage(getDashboardHtml()).source).toBe(readFileSync(module, 'utf8'));
  });
});
