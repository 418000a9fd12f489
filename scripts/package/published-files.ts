import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the specifiers of the modules that a declaration or a bundled module imports. */
export function importsOf(source: string): string[] {
  return [...source.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*(["'])([^"'\s]+)\1/g)].map(
    ([, , specifier = '']) => specifier,
  );
}

/**
 * Returns the paths of the declarations that users of a package can reach: those of its entry points, and those that
 * they refer to.
 *
 * @param folder folder of the package
 */
export function reachableDeclarations(folder: string): Set<string> {
  const { exports }: { exports: Record<string, { types?: string }> } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  );
  const entries = Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : [join(folder, types)]));
  const reached = new Set(entries);
  for (const file of reached) {
    for (const specifier of importsOf(readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) reached.add(join(dirname(file), specifier.replace(/\.js$/, '.d.ts')));
    }
  }
  return reached;
}
