import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { brokenLinks, documents, read, root } from './testing/documents.js';

const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !/node_modules|\.next|^testing|\/generated\//.test(file))
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

test('the first TypeScript block of the README is minimal.ts', () => {
  const first = blocksIn('ts').find(({ at }) => at.startsWith('README.md:'));
  expect(first?.code).toBe(read('examples/minimal.ts').trimEnd());
});

test.each(blocksIn('ts', 'tsx'))('the code at $at is in an example', ({ code }) => {
  expect(examples.some((example) => example.code.includes(`\n${withoutIndent(code)}\n`))).toBe(true);
});

test.each(examples.filter(({ file }) => !/\.test\.ts$|^(shop|next|chat-page)\//.test(file)))(
  'a test runs the example $file',
  ({ file }) => {
    const names = [`'${file}'`, `'./${basename(file, '.ts')}.js'`];
    const users = [...examples, { code: read('examples/testing/proofs.ts') }].filter(({ code }) =>
      names.some((name) => code.includes(name)),
    );
    expect(users).not.toEqual([]);
  },
);

test('no example casts a type, asserts that a value exists, or names any', () => {
  const found = examples
    .filter(({ file }) => !/\.test\.ts$/.test(file))
    .flatMap(({ file, code }) => {
      const bare = code.replaceAll(/\/\*.*?\*\/|\/\/.*?$|^import .*?;$|'[^'\n]*'|`[^`]*`/gms, '');
      const casts = bare.matchAll(/\bas (?!const\b)[\w{([].*|\bany\b|[\w)\]]!(?=[.;,)[])|@ts-\w+/g);
      return [...casts].map(([cast]) => `${file}: ${cast}`);
    });
  // The types of the MCP SDK disagree with each other.
  expect(found).toEqual(['shop/courier/courier-server.ts: as Parameters<McpServer[]>[0]);']);
});

test.each(examples.filter(({ code }) => /createDashboard\w+\(/.test(code)))(
  'the dashboard of the example $file answers its own hosts only, or checks its users',
  ({ code }) => {
    expect(code).toMatch(/allowedHosts|\bauthorize:|\.\.\.(?:basicAuth|bearer)\(/);
  },
);

describe.each(blocksIn('sh'))('commands at $at', ({ code }) => {
  const commands = code.replaceAll(/(^|\s)#.*$/gm, '').split(/\n|&&/);
  test.each(commands.map((command) => command.trim()).filter(Boolean))('the command exists: %s', (command) => {
    const words = command.split(/\s+/).filter((word) => !/^[A-Z_]+=/.test(word));
    const [program = '', verb = '', ...names] = words.filter((word) => !word.startsWith('-'));
    if (program === 'npm' && verb === 'install')
      expect(packages).toEqual(expect.arrayContaining(names.map(withoutVersion)));
    else if (program === 'npm' && !['init', 'pack'].includes(verb))
      expect(scripts).toHaveProperty([verb === 'run' ? (names[0] ?? '') : verb]);
    else if (program === 'npx') expect(packages).toContain(verb);
    else expect(['cd', 'cp', 'curl', 'git', 'mkdir', 'npm']).toContain(program);
  });
});

test.each(blocksIn('json'))('the JSON at $at is valid', ({ code }) => {
  expect(() => JSON.parse(code)).not.toThrow();
});

test.each(blocksIn('yaml', 'dockerfile'))('the code at $at is a file of the examples', ({ code }) => {
  const files = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?!.*node_modules).*(?:\.yml|Dockerfile)$/.test(file),
  );
  expect(files.map((file) => read(join('examples', file)).trimEnd())).toContain(code);
});

test('every block of code names a language that tests check', () => {
  // The test of roles executes SQL.
  const known = blocksIn('ts', 'tsx', 'sh', 'json', 'yaml', 'text', 'sql', 'dockerfile');
  expect(blocks.filter((block) => !known.includes(block)).map(({ at }) => at)).toEqual([]);
});

test('every page of docs is in its index, and has at most 1,600 words', () => {
  const pages = documents.filter(({ path }) => path.startsWith('docs/'));
  const index = pages.find(({ path }) => path === 'docs/README.md');
  const linked = new Set(index?.links.map((link) => join('docs', link.replace(/#.*/, ''))));
  expect(pages.filter((page) => page !== index && !linked.has(page.path)).map(({ path }) => path)).toEqual([]);
  const words = [...pages.map(({ path }) => path), 'README.md'].map((path) => ({
    path,
    words: read(path).trim().split(/\s+/).length,
  }));
  expect(words.filter((page) => page.words > 1_600)).toEqual([]);
});

test('the pages of errors list exactly the error codes of the library', () => {
  const sources = readdirSync(join(root, 'server'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.(test|fixture)\.ts$|^dashboard/.test(file))
    .map((file) => read(join('server', file)));
  const pages = ['errors', 'call-errors', 'agent-errors'].map((page) => read(`docs/${page}.md`)).join('\n');
  expect(codesIn(pages.replaceAll(/^```.*?^```/gms, ''), /^\| `(ERR_\w+)`/gm)).toEqual(
    codesIn(sources.join('\n'), /(?:super\(\s*|^\s*|= )'(ERR_\w+)'/gm),
  );
});

test('every relative link of the documents resolves', () => {
  expect(brokenLinks(root, documents)).toEqual([]);
});

function codesIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, code = '']) => code))].sort();
}

/** Returns `bullmq` for `bullmq@6.7`. */
function withoutVersion(name: string): string {
  return name.replace(/(?<=.)@[^/]*$/, '');
}

function withoutIndent(code: string): string {
  return code.replaceAll(/^ +/gm, '');
}
