import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { getDashboardHtml } from '../../server/dashboard/index.js';
import { embedPage } from './embed-page.js';

const html = '<!doctype html>\n<style>a{}</style><script>"日本 \\u2028 $& `"</script>\n';

/** Returns the constants of a generated module. */
function constantsOf(source: string): Record<string, unknown> {
  const lines = [...source.matchAll(/^export const (\w+): [^=]+ = (.*);$/gm)];
  return Object.fromEntries(lines.map(([, name = '', json = '']) => [name, JSON.parse(json)]));
}

function cspHash(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

describe('embedPage', () => {
  it('returns a module with the page, its hashes and its compressed forms', () => {
    const { gzip, brotli, ...rest } = constantsOf(embedPage(html));
    expect(rest).toEqual({
      html,
      digest: createHash('sha256').update(html).digest('base64url'),
      scriptHashes: [cspHash('"日本 \\u2028 $& `"')],
      styleHashes: [cspHash('a{}')],
    });
    expect(gunzipSync(Buffer.from(`${gzip}`, 'base64')).toString()).toBe(html);
    expect(brotliDecompressSync(Buffer.from(`${brotli}`, 'base64')).toString()).toBe(html);
  });

  it('normalizes line ends as browsers do', () => {
    expect(embedPage(html.replaceAll('\n', '\r\n'))).toEqual(embedPage(html));
  });

  it('returns the module from which the dashboard serves the page', () => {
    const module = new URL('../../server/dashboard/html.generated.ts', import.meta.url);
    expect(embedPage(getDashboardHtml())).toBe(readFileSync(module, 'utf8'));
  });
});
