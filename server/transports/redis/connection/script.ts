import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { isMissingFunction } from '../redis-errors.js';
import { checkArguments } from './script-limits.js';

/** Argument of a script. */
export type ScriptArgument = string | number;

/**
 * - `reads` changes nothing: it runs also while Redis refuses writes
 * - `stores` adds data without a bound: Redis refuses it while its memory is used up
 * - `works` runs also while memory is used up, because it leads to freed memory or adds little
 */
export type ScriptAccess = 'reads' | 'stores' | 'works';

/** Parts of a script. The documentation becomes the header of the Lua that Redis receives. */
export interface ScriptDefinition {
  /** Letters. Becomes part of the name of the function. */
  readonly name: string;
  /** Purpose of the script, in one or a few sentences. */
  readonly purpose: string;
  readonly access: ScriptAccess;
  /** Meaning of `KEYS[1]`. @default the prefix of the transport, a hash tag from which every key is derived */
  readonly key?: string;
  /** Arguments in their order. `name...` repeats. */
  readonly argv: string;
  /** Value that the script returns. */
  readonly reply: string;
  /** Fragments that `lua` uses directly. */
  readonly includes: readonly LuaFragment[];
  readonly lua: string;
}

const defaultKey = 'prefix of the transport, a hash tag from which every key is derived';
const flags = { reads: `'no-writes'`, stores: '', works: `'allow-oom'` } as const;

/** Scripts that have no library yet. */
const pending = new Set<Script>();
const libraries: ScriptLibrary[] = [];

/**
 * Lua script with documented arguments and declared includes: a function of Redis, in a library that it shares with
 * others. Redis runs the definitions of a function once. It would run those of a script with each `EVALSHA`, which takes
 * longer than the commands of the scripts for events.
 */
export class Script implements LibraryFunction {
  readonly includes: readonly LuaFragment[];
  readonly #definition: ScriptDefinition;
  #library: ScriptLibrary | undefined;
  #name = '';

  constructor(definition: ScriptDefinition) {
    this.includes = definition.includes;
    this.#definition = definition;
    pending.add(this);
  }

  /** Name of the function. */
  get name(): string {
    if (this.#library === undefined) arrangeLibrary();
    return this.#name;
  }

  /** The first read puts all scripts that are defined by then into one library. */
  get library(): ScriptLibrary {
    if (this.#library === undefined) arrangeLibrary();
    if (this.#library === undefined) throw new Error(`the script ${this.#definition.name} has no library`);
    return this.#library;
  }

  set library(library: ScriptLibrary) {
    pending.delete(this);
    this.#library = library;
    this.#name = this.#nameWith(library.hash);
  }

  lua(hash: string): string {
    const { purpose, access, key = defaultKey, argv, reply, lua } = this.#definition;
    const header = [purpose, `KEYS[1]  ${key}`, `ARGV     ${argv}`, `Reply    ${reply}`];
    return [
      `--[[\n${header.join('\n')}\n]]`,
      'local function run(KEYS, ARGV)',
      ...resolveIncludes(this.includes).map((fragment) => fragment.perCall),
      lua,
      'end',
      `redis.register_function{ function_name = '${this.#nameWith(hash)}', callback = run, flags = { ${flags[access]} } }`,
    ].join('\n');
  }

  /**
   * Calls the function, and loads its library only if the server does not have it.
   *
   * @throws {CallTooLargeError} if Redis would close the connection over the arguments
   */
  async run(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    checkArguments(args);
    // One array: JavaScript limits the number of arguments of a call, by the stack that is left.
    const call = (): Promise<unknown> => client.call('FCALL', [this.name, 1, key, ...args]);
    try {
      return await call();
    } catch (error) {
      if (!isMissingFunction(error)) throw error;
      const [, reply] = await Promise.all([this.library.load(client), call()]);
      return reply;
    }
  }

  #nameWith(hash: string): string {
    return `${familyPrefix}${this.#definition.name}_${hash}`;
  }
}

function arrangeLibrary(): void {
  if (pending.size === 0) return;
  const library = new ScriptLibrary('scripts', [...pending]);
  libraries.push(library);
  for (const script of pending) script.library = library;
}

/**
 * Loads the libraries of all scripts that the server does not have. It loads none while its memory is used up, when
 * scripts have to free memory and to be read from.
 */
export async function loadScripts(client: Redis): Promise<void> {
  arrangeLibrary();
  const loaded = await loadedLibraries(client, familyPrefix);
  await Promise.all(libraries.filter(({ name }) => !loaded.has(name)).map((library) => library.load(client)));
}

/** Function of a library. */
interface LibraryFunction {
  /** Fragments that the function uses directly. */
  readonly includes: readonly LuaFragment[];
  /** Returns the text that registers the function. @param hash of the library, which is the end of the function's name */
  lua(hash: string): string;
}

const familyPrefix = 'hubline_';

// A fragment with fewer users stands in the block of each, because Lua allows 200 local names outside of blocks.
const minUsers = 10;
// Versions of one library that Redis retains: processes of two versions during a deploy, one rolled back, one spare.
const keptVersions = 4;

/**
 * Library of Redis with many functions. They share their fragments: Lua collects garbage in time that grows with the
 * text that is loaded, so that a library per function would slow all of them down.
 *
 * The name carries a hash of the text, so that processes of different versions do not disturb each other.
 */
export class ScriptLibrary {
  readonly name: string;
  readonly hash: string;
  /** Text of the library. */
  readonly lua: string;
  readonly #family: string;
  /** Loads under way. The text is long, and all calls that miss the library would send it. */
  readonly #loading = new WeakMap<Redis, Promise<void>>();

  /** @param family start of the names of all versions of the library */
  constructor(family: string, functions: readonly LibraryFunction[]) {
    this.#family = `${familyPrefix}${family}_`;
    this.hash = createHash('sha256').update(libraryText(functions, '')).digest('hex').slice(0, 16);
    this.name = this.#family + this.hash;
    this.lua = `#!lua name=${this.name}\n${libraryText(functions, this.hash)}\n`;
  }

  /** Loads the library if the server does not have it. Commands that are sent later can call its functions. */
  load(client: Redis): Promise<void> {
    const known = this.#loading.get(client);
    if (known !== undefined) return known;
    const loading = this.#load(client);
    this.#loading.set(client, loading);
    return loading;
  }

  async #load(client: Redis): Promise<void> {
    try {
      await client.function('LOAD', this.lua);
    } catch (error) {
      if (error instanceof Error && /Library .* already exists/.test(error.message)) return;
      throw error;
    } finally {
      // A server that loses the library from now on needs it again.
      this.#loading.delete(client);
    }
    await this.#removeOtherVersions(client);
  }

  /** A process that still uses a removed version loads it again. */
  async #removeOtherVersions(client: Redis): Promise<void> {
    const names = await loadedLibraries(client, this.#family);
    if (names.size <= keptVersions) return;
    names.delete(this.name);
    await Promise.allSettled([...names].map((name) => client.function('DELETE', name)));
  }
}

function libraryText(functions: readonly LibraryFunction[], hash: string): string {
  const used = functions.map((each) => ({ each, fragments: resolveIncludes(each.includes) }));
  const users = new Map<LuaFragment, number>();
  for (const { fragments } of used) for (const one of fragments) users.set(one, (users.get(one) ?? 0) + 1);
  // A fragment has as many users as those that include it, or more: shared ones use only shared ones.
  const isShared = (fragment: LuaFragment): boolean => (users.get(fragment) ?? 0) >= minUsers;
  const shared = resolveIncludes([...users.keys()]).filter(isShared);
  const blocks = used.map(({ each, fragments }) => {
    const own = fragments.filter((fragment) => !isShared(fragment));
    return ['do', ...own.map(({ lua }) => lua), each.lua(hash), 'end'].join('\n');
  });
  return [...shared.map(({ lua }) => lua), ...blocks].join('\n');
}

/** Returns the names of the libraries that begin with a text. */
async function loadedLibraries(client: Redis, start: string): Promise<Set<string>> {
  const libraries = await client.function('LIST', 'LIBRARYNAME', `${start}*`);
  const values: unknown[] = libraries.flat(Number.POSITIVE_INFINITY);
  return new Set(values.filter((value) => typeof value === 'string' && value.startsWith(start)) as string[]);
}

/** Part of a Lua script that several scripts share: local functions and variables. */
export class LuaFragment {
  readonly lua: string;
  readonly includes: readonly LuaFragment[];
  readonly perCall: string;

  /**
   * @param lua runs once, when Redis loads the script: it declares functions and variables, and calls nothing
   * @param includes fragments whose functions and variables `lua` uses
   * @param perCall sets the variables at the beginning of each call, after those of `includes`
   */
  constructor(lua: string, includes: readonly LuaFragment[] = [], perCall = '') {
    this.lua = lua;
    this.includes = includes;
    this.perCall = perCall;
  }
}

/** Returns the fragments that a script needs, each once and after those that it includes itself. */
export function resolveIncludes(includes: readonly LuaFragment[]): readonly LuaFragment[] {
  const resolved = new Set<LuaFragment>();
  const visit = (fragment: LuaFragment): void => {
    if (resolved.has(fragment)) return;
    fragment.includes.forEach(visit);
    resolved.add(fragment);
  };
  includes.forEach(visit);
  return [...resolved];
}
