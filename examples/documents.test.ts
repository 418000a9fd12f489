import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documents, read, root } from './testing/documents.js';

const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !/node_modules|\.next|^testing/.test(file))
  .map((file) => ({ file, code: `\n${withoutIndent(read(join('examples', file)))}` }));

const { version, scripts, dependencies, peerDependencies, devDependencies } = JSON.parse(read('package.json'));
const packages = [
  'hubline',
  `../hubline/hubline-${version}.tgz`,
  ...Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies }),
];

const blocks = documents.flatMap(({ path, fences }) =>
  fences.map((fence) => ({ ...fence, at: `${path}:${fence.line}` })),
);
const blocksIn = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

test('the README begins with all of minimal.ts', () => {
  const first = blocksIn('ts').find(({ at }) => at.startsWith('README.md:'));
  expect(first?.code).toBe(read('examples/minimal.ts').trimEnd());
});

test.each(blocksIn('ts', 'tsx'))('an example has the code at $at', ({ code }) => {
  expect(examples.some((example) => example.code.includes(`\n${withoutIndent(code)}\n`))).toBe(true);
});

test.each(examples.filter(({ file }) => !/\.test\.ts$|\//.test(file)))('a test runs the example $file', ({ file }) => {
  const stem = file.replace('.ts', '');
  const names = [`'${file}'`, `'./${stem}.js'`, `'${stem}'`];
  const users = examples.filter((example) => names.some((name) => example.code.includes(name)));
  expect(users).not.toEqual([]);
});

describe.each(blocksIn('sh'))('at $at', ({ code }) => {
  const commands = code.replaceAll(/(^|\s)#.*$/gm, '').split(/\n|&&/);
  test.each(commands.map((command) => command.trim()).filter(Boolean))('the command is there: %s', (command) => {
    const words = command.split(/\s+/).filter((word) => !/^[A-Z_]+=/.test(word));
    const [program = '', verb = '', ...names] = words.filter((word) => !word.startsWith('-'));
    if (program === 'npm' && verb === 'install')
      expect(packages).toEqual(expect.arrayContaining(names.map(withoutVersion)));
    else if (program === 'npm' && !['init', 'pack'].includes(verb))
      expect(scripts).toHaveProperty([verb === 'run' ? (names[0] ?? '') : verb]);
    else if (program === 'npx') expect(packages).toContain(verb);
    else expect(['cd', 'curl', 'git', 'mkdir', 'npm']).toContain(program);
  });
});

test.each(blocksIn('json'))('JSON is at $at', ({ code }) => {
  expect(() => JSON.parse(code)).not.toThrow();
});

test('a block of code says what it is written in, so that a test above looks at it', () => {
  const known = blocksIn('ts', 'tsx', 'sh', 'json', 'text');
  expect(blocks.filter((block) => !known.includes(block)).map(({ at }) => at)).toEqual([]);
});

test('docs/errors.md has every code that an error of the library has, and no other', () => {
  const sources = readdirSync(join(root, 'server'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.(test|fixture)\.ts$|^dashboard/.test(file))
    .map((file) => read(join('server', file)));
  expect(codesIn(read('docs/errors.md').replaceAll(/^```.*?^```/gms, ''), /^\| `(ERR_\w+)`/gm)).toEqual(
    codesIn(sources.join('\n'), /(?:super\(\s*|^\s*|= )'(ERR_\w+)'/gm),
  );
});

test.each([...documents])('what $path links to is there', ({ path, links, anchors }) => {
  for (const link of links.filter((target) => !/^(https?|mailto):/.test(target))) {
    const [file = '', anchor] = link.split('#');
    const target = normalize(join(dirname(path), file));
    expect(existsSync(join(root, target)), link).toBe(true);
    if (anchor === undefined) continue;
    const there = file === '' ? anchors : documents.find((document) => document.path === target)?.anchors;
    expect(there, link).toContain(anchor);
  }
});

function codesIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, code = '']) => code))].sort();
}

/** `bullmq` of `bullmq@6.7`. */
function withoutVersion(name: string): string {
  return name.replace(/(?<=.)@[^/]*$/, '');
}

function withoutIndent(code: string): string {
  return code.replaceAll(/^ +/gm, '');
}
