import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { readPage } from './read-page.js';

/**
 * Hashes and compresses the built page. Returns the source of the module from which the dashboard serves it. The same page
 * gives the same source.
 *
 * @throws {Error} if the page is not self-contained
 */
export function embedPage(built: string): string {
  // Browsers normalize line ends before they hash inline scripts.
  const html = built.replace(/\r\n?/g, '\n');
  const { scripts, styles } = readPage(html);
  const bytes = Buffer.from(html);
  const gzip = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION });
  const brotli = brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  const source = [
    '// Generated from ui/ by `npm run build:page`.',
    '',
    constant('html', 'string', html),
    constant('digest', 'string', createHash('sha256').update(bytes).digest('base64url')),
    constant('scriptHashes', 'readonly string[]', scripts.map(cspHash)),
    constant('styleHashes', 'readonly string[]', styles.map(cspHash)),
    constant('gzip', 'string', gzip.toString('base64')),
    constant('brotli', 'string', brotli.toString('base64')),
  ].join('\n');
  return `${source}\n`;
}

function constant(name: string, type: string, value: unknown): string {
  return `export const ${name}: ${type} = ${JSON.stringify(value)};`;
}

function cspHash(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
