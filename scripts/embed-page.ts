import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { readPage } from './read-page.js';

/** A built page as the source of the module that the dashboard serves it from. */
export interface EmbeddedPage {
  readonly source: string;
  readonly bytes: { readonly html: number; readonly gzip: number; readonly brotli: number };
}

/** What the page may weigh, gzipped. */
export const maxGzipBytes = 35_000;

/**
 * Hashes and compresses the page. The same page gives the same source.
 *
 * @throws {Error} where the page is not self-contained or is too large
 */
export function embedPage(built: string): EmbeddedPage {
  // Browsers hash inline scripts after this.
  const html = built.replace(/\r\n?/g, '\n');
  const { scripts, styles } = readPage(html);
  const bytes = Buffer.from(html);
  // Blocks shorter than zlib's own follow the page better where style turns to script.
  const gzip = gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION, memLevel: 6 });
  const brotli = brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
  if (gzip.length > maxGzipBytes) {
    throw new Error(`the page is ${gzip.length} bytes gzipped, over its ${maxGzipBytes}: make it smaller`);
  }
  const source = [
    '// Made from ui/ by `npm run build:page`.',
    '',
    constant('html', 'string', html),
    constant('digest', 'string', createHash('sha256').update(bytes).digest('base64url')),
    constant('scriptHashes', 'readonly string[]', scripts.map(cspHash)),
    constant('styleHashes', 'readonly string[]', styles.map(cspHash)),
    constant('gzip', 'string', gzip.toString('base64')),
    constant('brotli', 'string', brotli.toString('base64')),
  ].join('\n');
  return { source: `${source}\n`, bytes: { html: bytes.length, gzip: gzip.length, brotli: brotli.length } };
}

function constant(name: string, type: string, value: unknown): string {
  return `export const ${name}: ${type} = ${JSON.stringify(value)};`;
}

function cspHash(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}
