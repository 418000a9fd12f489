/**
 * Checks that the embedded page is not too large.
 *
 * @module
 */
import { gzip, html } from '../../server/dashboard/html.generated.js';

/** Maximum size of the page, gzipped. */
const maxGzipBytes = 90_000;

const gzipBytes = Buffer.from(gzip, 'base64').length;
const sizes = `${gzipBytes} bytes gzipped (limit ${maxGzipBytes}), ${Buffer.byteLength(html)} bytes uncompressed`;
if (gzipBytes > maxGzipBytes) {
  console.error(`check-page: the page is too large: ${sizes}`);
  process.exitCode = 1;
} else {
  console.log(`page: ${sizes}`);
}
