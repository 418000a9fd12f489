import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** Import of a file by another one. Both paths are relative to the repository. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

/** Returns the imports of files, type-only ones included. */
export function importsOf(paths: readonly string[]): Import[] {
  // Git still lists a file that was deleted and not committed.
  const present = paths.filter((path) => existsSync(join(root, path)));
  return present.flatMap((from) =>
    [...readFileSync(join(root, from), 'utf8').matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(
      ([, specifier = '']) => ({ from, to: join(dirname(from), specifier) }),
    ),
  );
}
