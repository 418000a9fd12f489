import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** An argument of a script. */
export type ScriptArgument = string | number;

/** A Lua script, sent in full only where the server does not have it, as after `SCRIPT FLUSH`. */
export class Script {
  readonly #lua: string;
  readonly #sha: string;

  constructor(lua: string) {
    this.#lua = lua;
    this.#sha = createHash('sha1').update(lua).digest('hex');
  }

  async run(client: Redis, prefix: string, args: readonly ScriptArgument[]): Promise<unknown> {
    try {
      return await client.evalsha(this.#sha, 1, prefix, ...args);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return this.runInFull(client, prefix, args);
    }
  }

  /** Sends it in full at once, for a process that may not live to hear that the server does not have it. */
  runInFull(client: Redis, prefix: string, args: readonly ScriptArgument[]): Promise<unknown> {
    return client.eval(this.#lua, 1, prefix, ...args);
  }
}
