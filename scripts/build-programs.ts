import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of the programs that the tests of a project start. */
    programs: string;
  }
}

/**
 * Builds the programs that the tests of a project start, once for all of them. A process that compiles its sources takes
 * ten times the processor time to start.
 *
 * @param input paths of the programs below `folder` by their names
 * @returns a function that removes them
 */
export async function buildPrograms(
  project: TestProject,
  folder: string,
  input: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> {
  const cache = join(import.meta.dirname, '../.cache');
  await mkdir(cache, { recursive: true });
  const outDir = await mkdtemp(join(cache, 'programs-'));
  await build({
    configFile: false,
    root: folder,
    logLevel: 'warn',
    resolve: { alias: project.vite.config.resolve.alias },
    // Those of Nest. Node has none of its own.
    oxc: { decorator: { legacy: true } },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: false,
      target: 'node20.19',
      minify: false,
      rolldownOptions: {
        input: { ...input },
        external: (id) => /^[^./]/.test(id) && !/^(hubline\b|@oxc-project\/)/.test(id),
        // Modules keep their folders, as in the package: they may look for files beside themselves.
        checks: { pluginTimings: false },
        output: { entryFileNames: '[name].js', preserveModules: true, preserveModulesRoot: folder },
      },
    },
  });
  project.provide('programs', outDir);
  return () => rm(outDir, { recursive: true, force: true });
}
