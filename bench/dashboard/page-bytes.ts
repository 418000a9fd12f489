import { gzipSync } from 'node:zlib';
import { getDashboardHtml } from '../../dist/index.js';
import type { Row } from '../measuring/row.js';

/** Measures the gzipped size of the dashboard's page, which is one file. */
export function pageBytes(): Row[] {
  const html = Buffer.from(getDashboardHtml());
  return [
    {
      scenario: 'the page, all included, gzipped',
      unit: 'kB',
      hubline: gzipSync(html, { level: 9 }).length / 1000,
      target: { of: 'figure', limit: 'at most', value: 90 },
    },
  ];
}
