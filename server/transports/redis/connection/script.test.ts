import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { composeLibrary } from '../../../../scripts/lua/lua-library.js';
import { type RedisServer, startRedisServer } from '../../../../scripts/redis-server.js';
import { type Script, ScriptLibrary } from './script.js';

const parts = new Map([
  ['base.lua', 'local base\n--- @per-call\nbase = 1\n'],
  ['left.lua', '--- @include "./base.lua"\nlocal left\n--- @per-call\nleft = base\n'],
  ['right.lua', '--- @include "./left.lua"\nlocal right\n--- @per-call\nright = left\n'],
]);

/** Returns the text of a command. */
const commandOf = (lua: string, access = 'works'): string =>
  `--[[\nTests.\n\nKEYS[1]  a key\nARGV     none\nReply    a value\nAccess   ${access}\n]]\n--- @include "./right.lua"\n\n${lua}\n`;

/** Returns a library, in place of another version of it. */
function libraryOf(commands: Readonly<Record<string, string>>): ScriptLibrary<string> {
  const files = Object.entries(commands).map(([name, text]) => [`${name}.lua`, text] as const);
  const { name, functions, lua } = composeLibrary('test', new Map([...parts, ...files]), {});
  return new ScriptLibrary(name, functions, lua);
}

describe('Script', () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await startRedisServer();
    client = new Redis(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.release();
  });

  /** Returns a script with a library of its own, in place of another version of it. */
  const scriptOf = (lua: string, access?: string): Script => scriptIn({ test: commandOf(lua, access) }, 'test');
  const scriptIn = (commands: Readonly<Record<string, string>>, name: string): Script => {
    const script = libraryOf(commands).scripts[name];
    if (script === undefined) throw new Error(`there is no script ${name}`);
    return script;
  };
  const libraries = async (): Promise<unknown[]> => client.function('LIST', 'LIBRARYNAME', 'hubline_test_*');
  const load = (script: Script): Promise<unknown> => script.run(client, 'k', []);

  it('sets the variables of its includes with each call', async () => {
    const script = scriptOf('right = right + 1\nreturn right');
    expect([await load(script), await load(script)]).toEqual([2, 2]);
  });

  it('is loaded once for many calls at once that do not find it, also after its functions were flushed', async () => {
    const script = scriptOf(`return right and ARGV[1] or '${randomUUID()}'`);
    const loads = async (): Promise<number> =>
      Number(/cmdstat_function\|load:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
    for (let time = 0; time < 2; time += 1) {
      await client.function('FLUSH');
      const before = await loads();
      const calls = Array.from({ length: 20 }, (_, index) => script.run(client, 'k', [index]));
      expect(await Promise.all(calls)).toEqual(calls.map((_, index) => String(index)));
      expect((await loads()) - before).toBe(1);
    }
  });

  it('retains a few versions, and calls an old one that was removed', async () => {
    await client.function('FLUSH');
    const versions = Array.from({ length: 12 }, (_, index) => scriptOf(`return right + ${index - 1}`));
    for (const version of versions) await load(version);
    expect((await libraries()).length).toBeLessThanOrEqual(4);
    expect(await Promise.all(versions.map(load))).toEqual(versions.map((_, index) => index));
  });

  it('runs with memory used up if it works or reads, and is rejected if it stores', async () => {
    const scripts = (['works', 'reads', 'stores'] as const).map((access) => scriptOf('return right', access));
    for (const script of scripts) await load(script);
    await client.config('SET', 'maxmemory', '1');
    const results = await Promise.allSettled(scripts.map(load));
    await client.config('SET', 'maxmemory', '0');
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('shares a library with others, each with its own variables and access', async () => {
    const commands = {
      add: commandOf('right = right + 1\nreturn right'),
      read: commandOf('return right', 'reads'),
      write: commandOf(`return redis.call('INCRBY', 'n', right)`, 'reads'),
    };
    const { add, read, write } = libraryOf(commands).scripts;
    if (!add || !read || !write) throw new Error('a script is missing');
    expect([await load(add), await load(read), await load(add)]).toEqual([2, 1, 2]);
    await expect(load(write)).rejects.toThrow('Write commands are not allowed');
  });

  it('writes nothing if it reads', async () => {
    await expect(load(scriptOf(`return redis.call('INCRBY', 'n', right)`, 'reads'))).rejects.toThrow(
      'Write commands are not allowed',
    );
  });
});
