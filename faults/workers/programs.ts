import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPrograms } from '../../scripts/build-programs.js';

/** Builds the programs that the fault tests start by the hundred. */
export default function setUp(project: TestProject): Promise<() => Promise<void>> {
  return buildPrograms(project, join(import.meta.dirname, '..'), {
    worker: 'workers/worker.ts',
    'order-worker': 'kills/order-worker.ts',
    'traced-worker': 'traced-worker.ts',
    'every-feature-worker': 'kills/every-feature-worker.ts',
    'sqlite-worker': 'sqlite/sqlite-worker.ts',
    'sqlite-exit-worker': 'sqlite/sqlite-exit-worker.ts',
  });
}
