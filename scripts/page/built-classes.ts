import { readFileSync } from 'node:fs';

let names: Readonly<Record<string, string>> | undefined;

/** Returns the selector that finds in the built page what another one finds by the classes' names in the code. */
export function built(selector: string): string {
  names ??= JSON.parse(readFileSync(new URL('../../dist/page/short-classes.json', import.meta.url), 'utf8'));
  return selector.replace(/(?<=\.)[a-z]\w*(?:-\w+)+/g, (name) => names?.[name] ?? name);
}
