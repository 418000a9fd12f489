import { dirname, join } from 'node:path';
import { type LuaNames, luaNames } from './lua-names.js';

/**
 * - `reads` changes nothing: it runs also while Redis refuses writes
 * - `stores` adds data without a bound: Redis refuses it while its memory is used up
 * - `works` runs also while memory is used up, because it leads to freed memory or adds little
 */
const accesses = ['reads', 'stores', 'works'] as const;

type LuaAccess = (typeof accesses)[number];

/** Lua file: a command if its header has the lines of {@link headerFields}, else a part that commands share. */
export interface LuaFile {
  /** Path below the folder of all Lua files. */
  readonly path: string;
  /** Set if the file is a command. */
  readonly command?: { readonly name: string; readonly access: LuaAccess };
  /** Paths of the parts that the file includes directly. */
  readonly includes: readonly string[];
  /** Text that runs once, when Redis loads the library: it declares functions, variables and constants. */
  readonly loaded: string;
  /** Text that runs with each call. */
  readonly perCall: string;
  readonly names: LuaNames;
}

/** Lines of the header of a command, below its purpose. */
const headerFields = ['KEYS', 'ARGV', 'Reply', 'Access'] as const;
const marker = '--- @per-call';

/** Parses a Lua file. @throws {Error} that names the file */
export function parseLuaFile(path: string, text: string): LuaFile {
  try {
    const command = parseHeader(path, text);
    // As long as the text, so that lines keep their numbers.
    const source = text.replace(/^--\[\[.*?\]\]/s, (header) => header.replaceAll(/[^\n]/g, ''));
    const includes = [...source.matchAll(/^--- @include "(.+)"$/gm)].map(([, from = '']) => join(dirname(path), from));
    const lines = source.split('\n');
    const at = lines.indexOf(marker);
    // A command without a marker declares nothing: all of it runs with each call.
    const split = at === -1 ? (command === undefined ? lines.length : 0) : at;
    const { declared, mostVisible, effects } = luaNames(lines.slice(0, split).join('\n'));
    const names = luaNames(source);
    const ofCall = [...names.declared].filter(([name]) => name !== '_' && !declared.has(name) && !names.used.has(name));
    return {
      path,
      ...(command && { command }),
      includes,
      loaded: withoutComments(lines.slice(0, split)),
      perCall: withoutComments(lines.slice(split)),
      names: { ...names, declared, mostVisible, effects, unused: new Map([...names.unused, ...ofCall]) },
    };
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function parseHeader(path: string, text: string): LuaFile['command'] {
  const header = /^--\[\[\n(.*?)\n\]\]/s.exec(text)?.[1];
  if (header === undefined) return undefined;
  const missing = headerFields.filter((field) => !new RegExp(`^${field}(?:\\[1\\])? +\\S`, 'm').test(header));
  if (missing.length > 0) throw new Error(`the header has no ${missing.join(', ')}`);
  const [, access] = /^Access +(\S+)$/m.exec(header) ?? [];
  const known = accesses.find((each) => each === access);
  if (known === undefined) throw new Error(`Access is "${access}" instead of one of ${accesses.join(', ')}`);
  const words = path.replace(/^.*\/|\.lua$/g, '').split('-');
  const name = words.map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('');
  return { name, access: known };
}

function withoutComments(lines: readonly string[]): string {
  return lines.filter((line) => line.trim() !== '' && !/^\s*--/.test(line)).join('\n');
}
