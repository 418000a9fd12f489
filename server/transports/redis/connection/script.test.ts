import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../scripts/redis-server.js';
import { prelude } from './keys.js';
import {
  LuaFragment,
  resolveIncludes,
  Script,
  type ScriptAccess,
  type ScriptDefinition,
  ScriptLibrary,
} from './script.js';

const base = new LuaFragment('local base', [], 'base = 1');
const left = new LuaFragment('local left', [base], 'left = base');
const right = new LuaFragment('local right', [base, left], 'right = left');

describe('resolveIncludes', () => {
  it('puts each fragment once, after the fragments that it includes', () => {
    expect(resolveIncludes([right, left])).toEqual([base, left, right]);
  });
});

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

  const definitionOf = (lua: string, access: ScriptAccess = 'works', name = 'test'): ScriptDefinition => ({
    name,
    purpose: 'Tests.',
    access,
    argv: 'none',
    reply: 'a value',
    includes: [prelude, right],
    lua,
  });
  /** Returns a script with a library of its own, in place of another version of it. */
  const scriptOf = (lua: string, access?: ScriptAccess): Script => {
    const script = new Script(definitionOf(lua, access));
    script.library = new ScriptLibrary('test', [script]);
    return script;
  };
  const libraries = async (): Promise<unknown[]> => client.function('LIST', 'LIBRARYNAME', 'hubline_test_*');
  const load = (script: Script): Promise<unknown> => script.run(client, 'k', []);

  it('has a header in its library, and sets the variables of its includes with each call', async () => {
    const script = scriptOf('right = right + 1\nreturn right');
    const lines = script.library.lua.split('\n');
    expect(lines[0]).toBe(`#!lua name=${script.library.name}`);
    expect(lines.slice(lines.indexOf('--[['), lines.indexOf(']]') + 1)).toEqual([
      '--[[',
      'Tests.',
      'KEYS[1]  prefix of the transport, a hash tag from which every key is derived',
      'ARGV     none',
      'Reply    a value',
      ']]',
    ]);
    expect([await load(script), await load(script)]).toEqual([2, 2]);
  });

  it('is loaded once for many calls at once that do not find it, also after its functions were flushed', async () => {
    const script = scriptOf(`return ARGV[1] or '${randomUUID()}'`);
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
    const versions = Array.from({ length: 12 }, (_, index) => scriptOf(`return ${index}`));
    for (const version of versions) await load(version);
    expect((await libraries()).length).toBeLessThanOrEqual(4);
    expect(await Promise.all(versions.map(load))).toEqual(versions.map((_, index) => index));
  });

  it('runs with memory used up if it works or reads, and is rejected if it stores', async () => {
    const scripts = (['works', 'reads', 'stores'] as const).map((access) => scriptOf('return 1', access));
    for (const script of scripts) await load(script);
    await client.config('SET', 'maxmemory', '1');
    const results = await Promise.allSettled(scripts.map(load));
    await client.config('SET', 'maxmemory', '0');
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('shares a library with others, each with its own variables and access', async () => {
    const add = new Script(definitionOf('right = right + 1\nreturn right', 'works', 'add'));
    const read = new Script(definitionOf('return right', 'reads', 'read'));
    const write = new Script(definitionOf(`return call('INCR', 'n')`, 'reads', 'write'));
    expect(new Set([add, read, write].map(({ library }) => library)).size).toBe(1);
    expect([await load(add), await load(read), await load(add)]).toEqual([2, 1, 2]);
    await expect(load(write)).rejects.toThrow('Write commands are not allowed');
  });

  it('writes nothing if it reads', async () => {
    await expect(load(scriptOf(`return call('INCR', 'n')`, 'reads'))).rejects.toThrow('Write commands are not allowed');
  });
});
