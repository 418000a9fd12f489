import { expect, test } from 'vitest';
import { shortenProperties } from './short-properties.js';

test('shortens the custom properties that the style sheet declares and no script names', () => {
  const css =
    ':root{--space-1:4px;--space-12:48px}.a{--rows:1;margin:calc(var(--rows)*var(--space-12)) var( --space-1)}';
  expect(shortenProperties(css, '{"--rows":5}')).toBe(
    ':root{--0:4px;--1:48px}.a{--rows:1;margin:calc(var(--rows)*var(--1)) var( --0)}',
  );
});

test('leaves what scripts declare under composed names', () => {
  const css = '.a{--columns:var(--tracks-60)}';
  expect(shortenProperties(css, '{["--tracks-"+at]:1}')).toBe('.a{--0:var(--tracks-60)}');
});
