import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPrograms } from '../../scripts/build-programs.js';

/** Builds the examples that the tests start. */
export default function setUp(project: TestProject): Promise<() => Promise<void>> {
  const examples = join(import.meta.dirname, '..');
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /^(?!next\/|testing\/).*(?<!\.(test|fixture|d))\.ts$/.test(file));
  return buildPrograms(
    project,
    examples,
    Object.fromEntries(files.map((file) => [file.slice(0, -'.ts'.length), file])),
  );
}
