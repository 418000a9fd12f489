/**
 * Prints how finely the code is cut, and how many files one operation passes: `npx tsx scripts/rooms.ts`.
 * `--files` lists them.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAgent, createHub, createTool, type ModelResponse } from '../server/index.js';

const root = join(import.meta.dirname, '..');
const listsFiles = process.argv.includes('--files');

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
function rooms(): string[] {
  const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'server', 'ui'], {
    cwd: root,
    encoding: 'utf8',
  });
  return tracked
    .split('\n')
    .filter((path) => /\.tsx?$/.test(path) && !/\.test|fixture|\/testing\/|\/contract\/|generated/.test(path));
}

function answer(isLast: boolean): ModelResponse {
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
  if (isLast) return { content: 'done', usage, finishReason: 'stop' };
  return { content: '', toolCalls: [{ id: '1', name: 'look_up', arguments: '{}' }], usage, finishReason: 'tool_calls' };
}

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
async function handle(type: string): Promise<void> {
  await hub.emit(type, {});
  await new Promise((resolve) => setTimeout(resolve, 100));
}

const paths = rooms();
const lines = paths.map((path) => readFileSync(join(root, path), 'utf8').split('\n').length - 1);
const total = lines.reduce((sum, count) => sum + count, 0);
const walks: Record<string, Walk> = {
  'emit, handle, count': await walk(() => handle('counted')),
  'durable agent event with one tool call': await walk(() => handle('asked')),
  'introspect()': await walk(() => hub.introspect()),
};
await hub.stop();

console.log(
  `files ${paths.length}, mean lines ${Math.round(total / paths.length)}, folders ${new Set(paths.map(dirname)).size}`,
);
console.log(
  `files under 30 lines ${lines.filter((count) => count < 30).length}, over 600 ${lines.filter((count) => count > 600).length}`,
);
for (const [name, { files, functions }] of Object.entries(walks)) {
  console.log(`${name}: ${files.length} files, ${functions} functions`);
  if (listsFiles) for (const file of files) console.log(`  ${file}`);
}
