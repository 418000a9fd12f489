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

/** Lua allows 200 local names that are visible at one place. */
const maxNames = 200;
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
  const shared = sharedParts(resolved);
  const textWith = (hash: string): string => {
    const blocks = [...resolved].map(([file, parts]) => {
      const own = parts.filter((part) => !shared.has(part));
      return ['do', ...own.map(({ loaded }) => loaded), commandText(file, parts, hash), 'end'].join('\n');
    });
    return substitute([...[...shared].map(({ loaded }) => loaded), ...blocks].join('\n'), constants);
  };
  const hash = createHash('sha256').update(textWith('')).digest('hex').slice(0, 16);
  const name = `hubline_${family}_${hash}`;
  return {
    name,
    functions: Object.fromEntries(commands.map(({ command }) => [command?.name, functionName(command?.name, hash)])),
    lua: `#!lua name=${name}\n${textWith(hash)}\n`,
  };
}

/**
 * Returns the parts that stand once before all commands: as many as the names of Lua allow, those with most users first.
 * The others stand in the block of each command. A part has as many users as those that include it, or more: shared
 * ones use only shared ones.
 *
 * @throws {Error} that names a command with too many names
 */
function sharedParts(resolved: ReadonlyMap<LuaFile, readonly LuaFile[]>): ReadonlySet<LuaFile> {
  const users = new Map<LuaFile, number>();
  for (const part of [...resolved.values()].flat()) users.set(part, (users.get(part) ?? 0) + 1);
  let tooLarge: LuaFile | undefined;
  for (let minUsers = 2; minUsers <= resolved.size + 1; minUsers += 1) {
    const shared = new Set([...users.keys()].filter((part) => (users.get(part) ?? 0) >= minUsers));
    tooLarge = [...resolved].find(
      ([file, parts]) => namesOf([...new Set([...shared, ...parts, file])]) > maxNames,
    )?.[0];
    if (tooLarge === undefined) return shared;
  }
  throw new Error(`${tooLarge?.path}: declares more than ${maxNames} names, with the parts that it includes`);
}

/** Counts the names that are visible at one place of the texts of files in a row, and the function of the command. */
function namesOf(files: readonly LuaFile[]): number {
  let declared = 0;
  let most = 0;
  for (const { names } of files) {
    most = Math.max(most, declared + names.mostVisible);
    declared += names.declared.size;
  }
  return Math.max(most, declared + 1);
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
