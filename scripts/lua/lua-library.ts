import { createHash } from 'node:crypto';
import { checkLua } from './check-lua.js';
import { type LuaFile, parseLuaFile } from './lua-file.js';

/** Values by the names that Lua texts use as `constants.name`. */
export type LuaConstants = Readonly<Record<string, number | string | Readonly<Record<string, string>>>>;

/** Library of Redis. Its name carries a hash of its text, so that processes of different versions do not disturb each other. */
export interface ComposedLibrary {
  readonly name: string;
  /** Names of the functions of Redis, by the names of the commands. */
  readonly functions: Readonly<Record<string, string>>;
  readonly lua: string;
}

// A part with fewer users stands in the block of each, because Lua allows 200 local names outside of blocks.
const minUsers = 10;
const flags = { reads: `'no-writes'`, stores: '', works: `'allow-oom'` } as const;

/**
 * Composes a library of all commands. They share their parts: Lua collects garbage in time that grows with the text that
 * is loaded, so that a library per command would slow all of them down.
 *
 * @param family start of the names of all versions of the library, without `hubline_`
 * @param texts Lua files by their path
 * @throws {Error} that lists all defects of the files
 */
export function composeLibrary(
  family: string,
  texts: ReadonlyMap<string, string>,
  constants: LuaConstants,
): ComposedLibrary {
  const files = new Map([...texts].sort().map(([path, text]) => [path, parseLuaFile(path, text)]));
  const defects = checkLua(files, Object.keys(constants));
  if (defects.length > 0) throw new Error(defects.join('\n'));
  const commands = [...files.values()].filter(({ command }) => command !== undefined);
  const resolved = new Map(commands.map((file) => [file, resolveIncludes(files, file)]));
  const users = new Map<LuaFile, number>();
  for (const part of [...resolved.values()].flat()) users.set(part, (users.get(part) ?? 0) + 1);
  const isShared = (part: LuaFile): boolean => (users.get(part) ?? 0) >= minUsers;
  // A part has as many users as those that include it, or more: shared ones use only shared ones.
  const shared = [...new Set([...resolved.values()].flat())].filter(isShared);
  const textWith = (hash: string): string => {
    const blocks = [...resolved].map(([file, parts]) => {
      const own = parts.filter((part) => !isShared(part));
      return ['do', ...own.map(({ loaded }) => loaded), commandText(file, parts, hash), 'end'].join('\n');
    });
    return substitute([...shared.map(({ loaded }) => loaded), ...blocks].join('\n'), constants);
  };
  const hash = createHash('sha256').update(textWith('')).digest('hex').slice(0, 16);
  const name = `hubline_${family}_${hash}`;
  return {
    name,
    functions: Object.fromEntries(commands.map(({ command }) => [command?.name, functionName(command?.name, hash)])),
    lua: `#!lua name=${name}\n${textWith(hash)}\n`,
  };
}

function commandText({ command, loaded, perCall }: LuaFile, parts: readonly LuaFile[], hash: string): string {
  return [
    loaded,
    'local function run(KEYS, ARGV)',
    ...parts.map((part) => part.perCall),
    perCall,
    'end',
    `redis.register_function{ function_name = '${functionName(command?.name, hash)}', callback = run, flags = { ${flags[command?.access ?? 'stores']} } }`,
  ]
    .filter((text) => text !== '')
    .join('\n');
}

function functionName(command: string | undefined, hash: string): string {
  return `hubline_${command}_${hash}`;
}

/** Returns the parts that a command needs, each once and after those that it includes itself. */
function resolveIncludes(files: ReadonlyMap<string, LuaFile>, command: LuaFile): readonly LuaFile[] {
  const resolved = new Set<LuaFile>();
  const visit = (path: string): void => {
    const part = files.get(path);
    if (part === undefined || resolved.has(part)) return;
    part.includes.forEach(visit);
    resolved.add(part);
  };
  command.includes.forEach(visit);
  return [...resolved];
}

function substitute(lua: string, constants: LuaConstants): string {
  return lua.replaceAll(/\bconstants\.(\w+)/g, (_, name: string) => luaLiteral(constants[name] ?? ''));
}

function luaLiteral(value: LuaConstants[string]): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return /['\\\n]/.test(value) ? `[=[${value}]=]` : `'${value}'`;
  return `{ ${Object.entries(value)
    .map(([key, text]) => `${key} = '${text}'`)
    .join(', ')} }`;
}
