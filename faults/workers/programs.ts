import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of the programs that the fault tests start. */
    programs: string;
  }
}

const faults = join(import.meta.dirname, '..');

/**
 * Builds the programs that the fault tests start, once for all tests. A process that compiles its sources takes ten
 * times the processor time to start, and the tests start hundreds.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const cache = join(faults, '../.cache');
  await mkdir(cache, { recursive: true });
  const outDir = await mkdtemp(join(cache, 'programs-'));
  await build({
    configFile: false,
    root: faults,
    logLevel: 'warn',
    resolve: { alias: project.vite.config.resolve.alias },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node20.19',
      minify: false,
      rolldownOptions: {
        input: {
          worker: 'workers/worker.ts',
          'traced-worker': 'traced-worker.ts',
          'every-feature-worker': 'kills/every-feature-worker.ts',
          'sqlite-worker': 'sqlite/sqlite-worker.ts',
          'sqlite-exit-worker': 'sqlite/sqlite-exit-worker.ts',
        },
        external: (id) => /^[^./]/.test(id) && !/^hubline\b/.test(id),
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name].js' },
      },
    },
  });
  project.provide('programs', outDir);
  return () => rm(outDir, { recursive: true, force: true });
}
