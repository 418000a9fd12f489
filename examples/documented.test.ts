import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createHub, prometheus } from 'hubline';
import { expect, test } from 'vitest';
import { documents, read, root } from './testing/documents.js';

const sources = readdirSync(join(root, 'server'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.(test|fixture|test-d|generated)\.ts$/.test(file))
  .map((file) => ({ file: join('server', file), code: read(join('server', file)) }));
const entries = sources.filter(({ file }) => /^server\/((agents|dashboard|transports\/\w+)\/)?index\.ts$/.test(file));
/** Everything in backticks in the documents, and their code. */
const documented =
  documents
    .map(({ path }) => read(path))
    .join('\n')
    .match(/```[\s\S]*?```|`[^`\n]+`/g)
    ?.join('\n') ?? '';

function isDocumented(name: string): boolean {
  return new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(documented);
}

test('every public option is in the documents', () => {
  const exported = new Set(entries.flatMap(({ code }) => code.match(/\b\w+(?:Options|Config)\b/g) ?? []));
  const options = sources.flatMap(({ code }) =>
    [...code.matchAll(/^export interface (\w+(?:Options|Config))\b[^{]*\{\n([\s\S]*?)^\}/gm)]
      .filter(([, name = '']) => exported.has(name))
      .flatMap(([, name, body = '']) =>
        [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(<]/gm)].map(([, option = '']) => ({ name, option })),
      ),
  );
  expect(options.length).toBeGreaterThan(100);
  const missing = options.filter(({ option }) => !isDocumented(option));
  expect(missing.map(({ name, option }) => `${name}.${option}`)).toEqual([]);
});

test('every metric of OpenTelemetry is in the documents', () => {
  const metrics = sources
    .flatMap(({ code }) => [...code.matchAll(/\b(?:counter|gauge|histogram)\(\s*'([\w.]+)'/g)])
    .map(([, name = '']) => name);
  expect(metrics.length).toBeGreaterThan(5);
  expect(metrics.filter((name) => !isDocumented(name.replaceAll('.', '\\.')))).toEqual([]);
});

test('every metric of Prometheus is in its document', async () => {
  const hub = createHub();
  hub.event({ type: 'a', handler: () => {} });
  await hub.start();
  await hub.emit('a', {});
  const text = await prometheus(hub).read();
  await hub.stop();
  const metrics = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => name);
  expect(metrics.length).toBeGreaterThan(10);
  const page = read('docs/prometheus.md');
  expect(metrics.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test('every command and flag of the command line is in its document', () => {
  const code = sources
    .filter(({ file }) => file.startsWith('server/cli/'))
    .map((source) => source.code)
    .join('\n');
  const commands = [...code.matchAll(/\badd\(\s*'([\w-]+)/g)].map(([, name = '']) => name);
  const flags = [...code.matchAll(/\b[oO]ption\(\s*'(--[\w-]+)/g)].map(([, flag = '']) => flag);
  expect(commands.length).toBeGreaterThan(8);
  const page = read('docs/command-line.md');
  const isIn = (name: string): boolean => new RegExp(`\`${name}[ \`]`).test(page);
  expect([...commands, ...flags].filter((name) => !isIn(name))).toEqual([]);
});
