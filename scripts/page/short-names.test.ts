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
    'run-bar': 'a',
    'is-new': 'b',
    'run-bar-label': 'c',
  });
});

test('leaves classes that scripts compose, and that are words of CSS', () => {
  const css = '.tone-bad{font-size:1px}.font-size{}.wide-badge{}.trace-rows{}';
  const script = 'h("i",{class:"tone-"+tone+" "+kind+"-badge"},"tone-bad","font-size","trace-rows")';
  expect([...shortClasses(css, script)]).toEqual([['trace-rows', 'a']]);
});

test('names as many classes as there are', () => {
  const names = Array.from({ length: 60 }, (_, index) => `run-${index}`);
  const css = names.map((name) => `.${name}{}`).join('');
  const short = [...shortClasses(css, JSON.stringify(names)).values()];
  expect(new Set(short).size).toBe(60);
  expect([25, 26, 27, 52].map((index) => short[index])).toEqual(['z', 'aa', 'ab', 'ba']);
});

test('refuses a class that reads like a short name', () => {
  expect(() => shortClasses('.ab{}', '')).toThrow('rename the class ab');
});
