import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

const preamble = `
import { createEvent, createHub, createWorkflow } from 'hubline';
const hub = createHub();
const order = createEvent<{ id: string; email?: string }>({ type: 'order' });
const shipped = createEvent<{ tracking: string }>({ type: 'shipped' });
const fulfil = createWorkflow({ name: 'fulfil', run: ({ input }: { input: { id: string } }) => input.id });
`;

/** Code with the place of its error in guillemets, and what the message says. */
const mistakes: readonly [code: string, says: string][] = [
  ["hub.emit(order, { id: '1', «emial»: 'x' })", "Did you mean to write 'email'?"],
  ['hub.emit(order, { «id»: 1 })', "Type 'number' is not assignable to type 'string'"],
  ["hub.emit(order, { id: '1' }, { «delay»: 5 })", "Did you mean to write 'delayMs'?"],
  ["hub.emit('any.type', { id: 1 }, { «delay»: 5 })", "Did you mean to write 'delayMs'?"],
  ['hub.emit(«7», {})', "'number' is not assignable to parameter of type 'string | EventRef"],
  ["hub.emitMany(order, [{ id: '1', «emial»: 'x' }])", "Did you mean to write 'email'?"],
  ['hub.emitMany(order, [], { «priorty»: 5 })', "Did you mean to write 'priority'?"],
  ['hub.startWorkflow(fulfil, { «id»: 5 })', "Type 'number' is not assignable to type 'string'"],
  ["hub.startWorkflow(fulfil, { «idd»: '5' })", "'idd' does not exist in type '{ id: string; }'"],
  ["hub.startWorkflow(fulfil, { id: '5' }, { «delay»: 5 })", "Did you mean to write 'delayMs'?"],
  ['hub.event(order, { «concurency»: 5, handler: () => {} })', "Did you mean to write 'concurrency'?"],
  ["hub.event({ type: 'a', «concurency»: 5, handler: () => {} })", "Did you mean to write 'concurrency'?"],
  ['hub.event(order, { handler: ({ payload }) => payload.«idd» })', "'idd' does not exist on type '{ id: string;"],
  // The handler receives what JSON makes of a Date.
  [
    "hub.event<{ at: Date }>({ type: 'b', handler: ({ payload }) => payload.at.«getTime»() })",
    "Property 'getTime' does not exist on type 'string'",
  ],
  [
    "hub.event(createEvent<{ at: Date }>({ type: 'c' }), { handler: ({ payload }) => payload.at.«getTime»() })",
    "Property 'getTime' does not exist on type 'string'",
  ],
  // The event that follows must accept the result.
  ["hub.event({ type: 'd', «onSuccess»: shipped, handler: () => ({ tracking: 5 }) })", "'tracking' are incompatible"],
  [
    "hub.event<{ a: string }>({ type: 'e', «onSuccess»: shipped, handler: () => ({ tracking: 5 }) })",
    "is not assignable to type 'string'",
  ],
  [
    "hub.event<{ a: string }, { tracking: number }>({ type: 'f', «onSuccess»: shipped, handler: () => ({ tracking: 5 }) })",
    "'tracking' are incompatible",
  ],
  ['hub.event(order, { «onSuccess»: shipped, handler: () => ({ trackin: 1 }) })', "'tracking' is missing in type"],
  ["createWorkflow({ name: 'g', «retries»: 5, run: () => 1 })", "'retries' does not exist in type"],
  [
    "createWorkflow({ name: 'h', run: ({ step }) => step.emit('e', order, { «id»: 1 }) })",
    "Type 'number' is not assignable to type 'string'",
  ],
  [
    "createWorkflow({ name: 'i', run: ({ step }) => step.invoke('c', fulfil, { «id»: 1 }) })",
    "Type 'number' is not assignable to type 'string'",
  ],
  [
    "createWorkflow({ name: 'j', run: ({ step }) => step.waitForEvent('w', order, { «timeout»: 5 }) })",
    "'timeout' does not exist in type",
  ],
  [
    "createWorkflow({ name: 'k', run: ({ step }) => step.run('r', () => 1, { «timeout»: 5 }) })",
    "Did you mean to write 'timeoutMs'?",
  ],
];

/** Compiles a file and returns its errors by line: their column and all lines of their text. */
async function errorsOf(code: string): Promise<ReadonlyMap<number, { column: number; text: string }>> {
  const folder = mkdtempSync(join(tmpdir(), 'hubline-types-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'mistakes.ts'), code);
  const compilerOptions = {
    noEmit: true,
    rootDir: '/',
    paths: { hubline: [join(root, 'server/index.ts')] },
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
  };
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: [], files: ['mistakes.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
    cwd: folder,
  }).then(
    () => ({ stdout: '' }),
    (error: { stdout: string }) => error,
  );
  const errors = new Map<number, { column: number; text: string }>();
  let last: { column: number; text: string } | undefined;
  for (const line of stdout.split('\n')) {
    const [, row, column, text = ''] = /^mistakes\.ts\((\d+),(\d+)\): (.*)$/.exec(line) ?? [];
    if (row === undefined) {
      if (last !== undefined) last.text += `\n${line}`;
      continue;
    }
    last = { column: Number(column), text };
    errors.set(Number(row), last);
  }
  return errors;
}

test('a mistake is marked where it is, and the message names what is wrong', async () => {
  const lines = mistakes.map(([code]) => code.replace(/[«»]/g, ''));
  const errors = await errorsOf(`${preamble.trim()}\n${lines.join('\n')}\n`);
  const first = preamble.trim().split('\n').length + 1;
  expect([...errors.keys()].filter((row) => row < first)).toEqual([]);
  for (const [index, [code, says]] of mistakes.entries()) {
    const error = errors.get(first + index);
    expect(error?.text, code).toContain(says);
    expect(error?.column, code).toBe(code.indexOf('«') + 1);
  }
});
