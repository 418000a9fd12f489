import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { isMissingFunction } from '../connection/rejections.js';
import { type LuaFragment, resolveIncludes } from './lua-fragment.js';

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
// Versions of one script that Redis retains: processes of two versions during a deploy, one rolled back, one spare.
const keptVersions = 4;
const familyPrefix = 'hubline_';

const scripts: Script[] = [];

/**
 * Lua script with documented arguments and declared includes: a function of Redis in a library of its own. Redis runs
 * the definitions of a function once. It would run those of a script with each `EVALSHA`, which takes longer than the
 * commands of the scripts for events.
 *
 * The name carries a hash of the text, so that processes of different versions do not disturb each other.
 */
export class Script {
  /** Name of the function and of its library. */
  readonly name: string;
  /** Text of the library. */
  readonly lua: string;
  readonly #family: string;

  constructor({ name, purpose, access, key = defaultKey, argv, reply, includes, lua }: ScriptDefinition) {
    const header = [purpose, `KEYS[1]  ${key}`, `ARGV     ${argv}`, `Reply    ${reply}`];
    const fragments = resolveIncludes(includes);
    const body = [
      `--[[\n${header.join('\n')}\n]]`,
      ...fragments.map((fragment) => fragment.lua),
      'local function run(KEYS, ARGV)',
      ...fragments.map((fragment) => fragment.perCall),
      lua,
      'end',
    ].join('\n');
    this.#family = `${familyPrefix}${name}_`;
    this.name = this.#family + createHash('sha256').update(access).update(body).digest('hex').slice(0, 16);
    const register = `redis.register_function{ function_name = '${this.name}', callback = run, flags = { ${flags[access]} } }`;
    this.lua = `#!lua name=${this.name}\n${body}\n${register}\n`;
    scripts.push(this);
  }

  /** Calls the function, and loads its library only if the server does not have it. */
  async run(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    try {
      return await client.fcall(this.name, 1, key, ...args);
    } catch (error) {
      if (!isMissingFunction(error)) throw error;
      return this.loadAndRun(client, key, args);
    }
  }

  /** Sends the text at once, for a process that may die before it can learn that the server does not have it. */
  async loadAndRun(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    const [, reply] = await Promise.all([this.load(client), client.fcall(this.name, 1, key, ...args)]);
    return reply;
  }

  /** Loads the library if the server does not have it. */
  async load(client: Redis): Promise<void> {
    try {
      await client.function('LOAD', this.lua);
    } catch (error) {
      if (error instanceof Error && error.message.includes('already exists')) return;
      throw error;
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

/**
 * Loads the libraries of all scripts that the server does not have. It loads none while its memory is used up, when
 * scripts have to free memory and to be read from.
 */
export async function loadScripts(client: Redis): Promise<void> {
  const loaded = await loadedLibraries(client, familyPrefix);
  await Promise.all(scripts.filter(({ name }) => !loaded.has(name)).map((script) => script.load(client)));
}

/** Returns the names of the libraries that begin with a text. A library has the name of its function. */
async function loadedLibraries(client: Redis, start: string): Promise<Set<string>> {
  const libraries = await client.function('LIST', 'LIBRARYNAME', `${start}*`);
  const values: unknown[] = libraries.flat(Number.POSITIVE_INFINITY);
  return new Set(values.filter((value) => typeof value === 'string' && value.startsWith(start)) as string[]);
}
