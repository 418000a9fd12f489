/**
 * Measures the code: how finely it is cut, which folders import each other, and how many files one operation passes.
 * `npm run rooms` prints the table, with `-- --files` also the files of each operation. `--check` only checks that no two
 * folders with one parent import each other, and runs in `npm run check`.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ModelResponse } from '../server/index.js';
import { type Import, importsOf } from './imports.js';

const root = join(import.meta.dirname, '..');

interface Walk {
  files: string[];
  functions: number;
}

/** Runs an operation once warm, then returns which functions of `server/` a second time called. */
async function walk(operation: () => Promise<unknown>): Promise<Walk> {
  await operation();
  await operation();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await operation();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const files: string[] = [];
  let functions = 0;
  for (const script of result) {
    if (!script.url.startsWith('file:')) continue;
    const path = relative(root, fileURLToPath(script.url.replace(/\?.*/, '')));
    if (!path.startsWith('server/') || path.startsWith('server/testing/')) continue;
    const called = script.functions.filter(
      (one) => one.functionName !== '' && one.ranges.some(({ count }) => count > 0),
    );
    if (called.length === 0) continue;
    files.push(path);
    functions += called.length;
  }
  return { files: files.sort(), functions };
}

/** Returns the files of the package and of the page, without tests, fixtures and generated files. */
function sources(extensions: RegExp): string[] {
  const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'server', 'ui'], {
    cwd: root,
    encoding: 'utf8',
  });
  return tracked
    .split('\n')
    .filter((path) => extensions.test(path) && !/\.test|fixture|\/testing\/|\/contract\/|generated/.test(path));
}

/** Returns the pairs of folders with one parent of which each imports the other, with an import in each direction. */
export function mutualFolders(imports: readonly Import[]): string[] {
  const first = new Map<string, Import>();
  for (const { from, to } of imports) {
    const [importing, imported] = [dirname(from).split('/'), dirname(to).split('/')];
    const at = importing.findIndex((name, index) => name !== imported[index]);
    // One folder contains the other, or both files are in one.
    if (at === -1 || at >= imported.length) continue;
    const folderAt = (path: readonly string[]): string => path.slice(0, at + 1).join('/');
    const edge = `${folderAt(importing)} ${folderAt(imported)}`;
    if (!first.has(edge)) first.set(edge, { from, to });
  }
  return [...first].flatMap(([edge, there]) => {
    const [one = '', other = ''] = edge.split(' ');
    const back = first.get(`${other} ${one}`);
    if (back === undefined || one > other) return [];
    return [`${one} <-> ${other}: ${there.from} imports ${there.to}, and ${back.from} imports ${back.to}`];
  });
}

function answer(isLast: boolean): ModelResponse {
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
  if (isLast) return { content: 'done', usage, finishReason: 'stop' };
  return { content: '', toolCalls: [{ id: '1', name: 'look_up', arguments: '{}' }], usage, finishReason: 'tool_calls' };
}

/** Walks through three operations of a hub in memory. */
async function walks(): Promise<Record<string, Walk>> {
  const { createAgent, createHub, createTool } = await import('../server/index.js');
  const hub = createHub();
  hub.event({ type: 'counted', handler: () => {} });
  const question = createTool({
    name: 'look_up',
    description: 'Looks a word up.',
    parameters: { type: 'object', properties: {} },
    execute: async () => 'found',
  });
  const agent = createAgent({
    name: 'walker',
    systemPrompt: 'Answer.',
    provider: { chat: async (messages) => answer(messages.at(-1)?.role === 'tool') },
    model: { model: 'scripted' },
    tools: [question],
  });
  hub.event({ type: 'asked', handler: agent.asHandler() });
  await hub.start();

  /** Emits an event and waits until nothing of it is left to do. */
  const handle = async (type: string): Promise<void> => {
    await hub.emit(type, {});
    await new Promise((resolve) => setTimeout(resolve, 100));
  };
  const found = {
    'emit, handle, count': await walk(() => handle('counted')),
    'durable agent event with one tool call': await walk(() => handle('asked')),
    'introspect()': await walk(() => hub.introspect()),
  };
  await hub.stop();
  return found;
}

/** Returns a Lua file and those that it includes, directly or through others. */
function includedLua(path: string, found: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  if (found.has(path)) return found;
  const includes = readFileSync(join(root, path), 'utf8').matchAll(/^--- @include "([^"]+)"/gm);
  return [...includes].reduce(
    (all, [, included = '']) => includedLua(join(dirname(path), included), all),
    new Set([...found, path]) as ReadonlySet<string>,
  );
}

/** Prints the table. */
async function printTable(pairs: readonly string[]): Promise<void> {
  const paths = sources(/\.tsx?$/);
  const lines = paths.map((path) => readFileSync(join(root, path), 'utf8').split('\n').length - 1);
  const total = lines.reduce((sum, count) => sum + count, 0);
  const rows: [string, number | string][] = [
    ['files', paths.length],
    ['mean lines', Math.round(total / paths.length)],
    ['folders', new Set(paths.map(dirname)).size],
    ['files under 30 lines', lines.filter((count) => count < 30).length],
    ['files over 600 lines', lines.filter((count) => count > 600).length],
    ['pairs of folders that import each other', pairs.length],
  ];
  for (const path of sources(/\/publish\.lua$/)) rows.push(['Lua files of publishing', includedLua(path).size]);
  const found = Object.entries(await walks());
  for (const [name, { files, functions }] of found) rows.push([name, `${files.length} files, ${functions} functions`]);
  for (const [name, value] of rows) console.log(`${name.padEnd(42)}${value}`);
  if (!process.argv.includes('--files')) return;
  for (const [name, { files }] of found) console.log(`\n${name}\n${files.join('\n')}`);
}

if (process.argv[1] === import.meta.filename) {
  const pairs = mutualFolders(importsOf(sources(/\.tsx?$/)));
  for (const pair of pairs) console.error(`rooms: ${pair}`);
  if (pairs.length > 0) process.exitCode = 1;
  if (!process.argv.includes('--check')) await printTable(pairs);
}
