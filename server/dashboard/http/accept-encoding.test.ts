import { expect, it } from 'vitest';
import { acceptsEncoding } from './accept-encoding.js';

it.each([
  [undefined, false, false],
  ['', false, false],
  ['gzip', true, false],
  ['br', false, true],
  ['gzip, deflate, br, zstd', true, true],
  ['GZip;Q=0.5 , BR ; q=1', true, true],
  ['br;q=0, gzip', true, false],
  ['br;q=0.000, gzip;q=0.001', true, false],
  ['gzip;q=0', false, false],
  ['*', true, true],
  ['*;q=0', false, false],
  ['*;q=0, gzip', true, false],
  ['gzip;q=0, *', false, true],
  ['*, gzip;q=0', false, true],
  ['identity', false, false],
  ['identity;q=0, gzip', true, false],
  ['gzipped, xbr', false, false],
  ['gzip;q=much', false, false],
  ['gzip;level=9', true, false],
  [',,;;q=0,', false, false],
])('reads Accept-Encoding %j as gzip %j, br %j', (header, gzip, br) => {
  expect(acceptsEncoding(header, 'gzip')).toBe(gzip);
  expect(acceptsEncoding(header, 'br')).toBe(br);
});
