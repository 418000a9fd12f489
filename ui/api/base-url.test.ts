import { expect, test } from 'vitest';
import { baseUrl } from './api.js';

test.each([
  ['/', 'http://host/'],
  ['/dash', 'http://host/dash/'],
  ['/dash/', 'http://host/dash/'],
  ['/ops/hub//', 'http://host/ops/hub/'],
])('a page at %s has the base URL %s', (pathname, expected) => {
  expect(baseUrl({ origin: 'http://host', pathname })).toBe(expected);
});
