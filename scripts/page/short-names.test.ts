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
  const shorten = classShortener(css, '', '');
  expect(shorten(css)).toBe('._0._1>._2{color:red}.plain{color:red}');
  expect(shorten('h("i",{class:"run-bar is-new",title:"a run-bars"},"run-bar-")')).toBe(
    'h("i",{class:"_0 _1",title:"a run-bars"},"run-bar-")',
  );
});

test('leaves classes that scripts compose, that users find and that are words of CSS', () => {
  const css = '.tone-bad{font-size:1px}.font-size{color:red}.trace-row{color:red}.trace-rows{color:red}';
  const shorten = classShortener(css, 'h("i",{class:"tone-"+tone})', "page.locator('.trace-row')");
  expect(shorten(css)).toBe('.tone-bad{font-size:1px}.font-size{color:red}.trace-row{color:red}._0{color:red}');
});
