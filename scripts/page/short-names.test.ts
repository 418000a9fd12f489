import { expect, test } from 'vitest';
import { classShortener, shortenProperties } from './short-names.js';

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

test('shortens the classes of the style sheet in both', () => {
  const css = '.run-bar.is-new>.run-bar-label{color:red}.plain{color:red}';
  const script = 'h("i",{class:"run-bar is-new",title:"a run-bars"},"run-bar-label")';
  const shorten = classShortener(css, script, '');
  expect(shorten(css)).toBe('.c0.c1>.c2{color:red}.plain{color:red}');
  expect(shorten(script)).toBe('h("i",{class:"c0 c1",title:"a run-bars"},"c2")');
});

test('leaves classes that scripts compose, that users find and that are words of CSS', () => {
  const rules = ['.tone-bad{font-size:1px}', '.font-size{}', '.trace-row{}', '.wide-badge{}'];
  const css = [...rules, '.trace-rows{}'].join('');
  const script = 'h("i",{class:"tone-"+tone+" "+kind+"-badge"},"tone-bad","font-size","trace-row","trace-rows")';
  const shorten = classShortener(css, script, "page.locator('.trace-row')");
  expect(shorten(css)).toBe([...rules, '.c0{}'].join(''));
});

test('refuses a class that reads like a short name', () => {
  expect(() => classShortener('.c1{}', '', '')).toThrow('rename the class c1');
});
