import type { Redis } from 'ioredis';
import { isMissingFunction } from '../redis-errors.js';
import { checkArguments } from './script-limits.js';
import { libraryFunctions, libraryName, libraryText } from './scripts.generated.js';

/** Argument of a script. */
export type ScriptArgument = string | number;

/**
 * Lua script: a function of Redis, in a library that it shares with others. Redis runs the definitions of a function once.
 * It would run those of a script with each `EVALSHA`, which takes longer than the commands of the scripts for events.
 */
export class Script {
  readonly #library: ScriptLibrary<string>;
  readonly #name: string;

  /** @param name of the function */
  constructor(library: ScriptLibrary<string>, name: string) {
    this.#library = library;
    this.#name = name;
  }

  /**
   * Calls the function, and loads its library only if the server does not have it.
   *
   * @throws {CallTooLargeError} if Redis would close the connection over the arguments
   */
  async run(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    checkArguments(args);
    // One array: JavaScript limits the number of arguments of a call, by the stack that is left.
    const call = (): Promise<unknown> => client.call('FCALL', [this.#name, 1, key, ...args]);
    try {
      return await call();
    } catch (error) {
      if (!isMissingFunction(error)) throw error;
      const [, reply] = await Promise.all([this.#library.load(client), call()]);
      return reply;
    }
  }
}

// Versions of one library that Redis retains: processes of two versions during a deploy, one rolled back, one spare.
const keptVersions = 4;

/** Library of Redis with the functions of many scripts, which share their parts. */
export class ScriptLibrary<Name extends string> {
  readonly name: string;
  readonly scripts: Readonly<Record<Name, Script>>;
  readonly #lua: string;
  /** Loads under way. The text is long, and all calls that miss the library would send it. */
  readonly #loading = new WeakMap<Redis, Promise<void>>();

  /**
   * @param name ends with a hash of the text, so that processes of different versions do not disturb each other
   * @param functions names of the functions by the names of their scripts
   * @param lua text of the library
   */
  constructor(name: string, functions: Readonly<Record<Name, string>>, lua: string) {
    this.name = name;
    this.#lua = lua;
    const scripts = Object.entries<string>(functions).map(([script, of]) => [script, new Script(this, of)]);
    // `fromEntries` does not retain the type of the keys.
    this.scripts = Object.fromEntries(scripts) as Record<Name, Script>;
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
      await client.function('LOAD', this.#lua);
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
    const family = this.name.replace(/[^_]*$/, '');
    const names = await loadedLibraries(client, family);
    if (names.size <= keptVersions) return;
    names.delete(this.name);
    await Promise.allSettled([...names].map((name) => client.function('DELETE', name)));
  }
}

/** Returns the names of the libraries that begin with a text. */
async function loadedLibraries(client: Redis, start: string): Promise<Set<string>> {
  const libraries = await client.function('LIST', 'LIBRARYNAME', `${start}*`);
  const values: unknown[] = libraries.flat(Number.POSITIVE_INFINITY);
  return new Set(values.filter((value) => typeof value === 'string' && value.startsWith(start)) as string[]);
}

const library = new ScriptLibrary(libraryName, libraryFunctions, libraryText);

/** All scripts of the transport. Each Lua file with a header is one. */
export const scripts: Readonly<Record<keyof typeof libraryFunctions, Script>> = library.scripts;

/**
 * Loads the scripts if the server does not have them. It loads none while its memory is used up, when scripts have to
 * free memory and to be read from.
 */
export async function loadScripts(client: Redis): Promise<void> {
  const loaded = await loadedLibraries(client, library.name);
  if (!loaded.has(library.name)) await library.load(client);
}
