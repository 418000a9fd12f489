import { join } from 'node:path';
import { inject } from 'vitest';

/** Returns the path of a program for `fork`, by the name of its source. */
export function programOf(name: string): string {
  return join(inject('programs'), `${name}.js`);
}
