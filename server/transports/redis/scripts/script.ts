import type { Redis } from 'ioredis';
import { isMissingFunction } from '../connection/rejections.js';
import { type LuaFragment, resolveIncludes } from './lua-fragment.js';
import { familyPrefix, type LibraryFunction, loadedLibraries, ScriptLibrary } from './script-library.js';

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

  /** Calls the function, and loads its library only if the server does not have it. */
  async run(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    try {
      return await client.fcall(this.name, 1, key, ...args);
    } catch (error) {
      if (!isMissingFunction(error)) throw error;
      const [, reply] = await Promise.all([this.library.load(client), client.fcall(this.name, 1, key, ...args)]);
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
