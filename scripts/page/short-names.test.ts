import { expect, test } from 'vitest';
import { shortClasses, shortenProperties } from './short-names.js';

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

test('shortens the classes of the style sheet that scripts name', () => {
  const css = '.run-bar.is-new>.run-bar-label{color:red}.plain{color:red}.run-off{}';
  const script = 'h("i",{class:"run-bar is-new",title:"a run-bars"},"run-bar-label")';
  expect(Object.fromEntries(shortClasses(css, script))).toEqual({
    'run-bar': 'c0',
    'is-new': 'c1',
    'run-bar-label': 'c2',
  });
});

test('leaves classes that scripts compose, and that are words of CSS', () => {
  const css = '.tone-bad{font-size:1px}.font-size{}.wide-badge{}.trace-rows{}';
  const script = 'h("i",{class:"tone-"+tone+" "+kind+"-badge"},"tone-bad","font-size","trace-rows")';
  expect([...shortClasses(css, script)]).toEqual([['trace-rows', 'c0']]);
});

test('refuses a class that reads like a short name', () => {
  expect(() => shortClasses('.c1{}', '')).toThrow('rename the class c1');
});
