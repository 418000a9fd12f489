import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { type LuaFragment, resolveIncludes } from './lua-fragment.js';

/** Argument of a script. */
export type ScriptArgument = string | number;

/** Parts of a script. The documentation becomes the header of the Lua that Redis receives. */
export interface ScriptDefinition {
  /** Purpose of the script, in one or a few sentences. */
  readonly purpose: string;
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

/** Lua script with documented arguments and declared includes. */
export class Script {
  readonly lua: string;
  readonly #sha: string;

  constructor({ purpose, key = defaultKey, argv, reply, includes, lua }: ScriptDefinition) {
    const header = [purpose, `KEYS[1]  ${key}`, `ARGV     ${argv}`, `Reply    ${reply}`];
    const fragments = resolveIncludes(includes).map((fragment) => fragment.lua);
    this.lua = [`--[[\n${header.join('\n')}\n]]`, ...fragments, lua].join('\n');
    this.#sha = createHash('sha1').update(this.lua).digest('hex');
  }

  /** Runs the script by its hash, and sends its text only if the server does not have it. */
  async run(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    try {
      return await client.evalsha(this.#sha, 1, key, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.runInFull(client, key, args);
    }
  }

  /** Sends the text at once, for a process that may die before it can learn that the server does not have it. */
  runInFull(client: Redis, key: string, args: readonly ScriptArgument[]): Promise<unknown> {
    return client.eval(this.lua, 1, key, ...args);
  }
}
