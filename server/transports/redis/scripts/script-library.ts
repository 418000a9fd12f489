import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type LuaFragment, resolveIncludes } from './lua-fragment.js';

/** Function of a library. */
export interface LibraryFunction {
  /** Fragments that the function uses directly. */
  readonly includes: readonly LuaFragment[];
  /** Returns the text that registers the function. @param hash of the library, which is the end of the function's name */
  lua(hash: string): string;
}

export const familyPrefix = 'hubline_';

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
export async function loadedLibraries(client: Redis, start: string): Promise<Set<string>> {
  const libraries = await client.function('LIST', 'LIBRARYNAME', `${start}*`);
  const values: unknown[] = libraries.flat(Number.POSITIVE_INFINITY);
  return new Set(values.filter((value) => typeof value === 'string' && value.startsWith(start)) as string[]);
}
