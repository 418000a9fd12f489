import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const examples = new URL('.', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, examples), 'utf8');

const readme = read('../README.md');
const snippets = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, snippet = '']) => snippet);
const sources = readdirSync(examples, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => withoutIndent(read(file)));

test('the README begins with all of minimal.ts', () => {
  expect(snippets[0]).toBe(read('minimal.ts'));
});

test.each(snippets.map((snippet) => [snippet.split('\n')[0], snippet]))(
  'an example has what the README shows: %s',
  (_, snippet = '') => {
    expect(sources.some((source) => source.includes(withoutIndent(snippet)))).toBe(true);
  },
);

test('what the README links to is there', () => {
  const links = [...readme.matchAll(/(?:\]\(|src="|srcset=")(?!https?:|#)([^)"]+)/g)].map(([, path = '']) => path);
  for (const path of links) expect(read(`../${path}`), path).not.toBe('');
});

function withoutIndent(code: string): string {
  return code.replaceAll(/^ +/gm, '');
}
