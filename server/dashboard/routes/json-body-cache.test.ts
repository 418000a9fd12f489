import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createJsonBodyCache, type JsonSource } from './json-body-cache.js';

function setUp() {
  const clock = { now: 0 };
  let reads = 0;
  const revision = { current: '1' };
  const cached = createJsonBodyCache(() => clock.now);
  const source = (key: string): JsonSource => ({
    key,
    revision: async () => revision.current,
    read: async () => {
      reads += 1;
      return { reads };
    },
  });
  const text = async (key: string): Promise<string> => {
    const json = await cached(source(key));
    return `${json.revision} ${(await json.body()).plain}`;
  };
  return { clock, revision, cached, source, text };
}

describe('createJsonBodyCache', () => {
  it('reads once for concurrent calls', async () => {
    const { text } = setUp();
    const texts = await Promise.all(Array.from({ length: 10 }, () => text('a')));
    expect(new Set(texts)).toEqual(new Set(['1 {"reads":1}']));
  });

  it('serves revision and body for one second, whatever changes', async () => {
    const { clock, revision, text } = setUp();
    await text('a');
    revision.current = '2';
    clock.now = 999;
    expect(await text('a')).toBe('1 {"reads":1}');
    clock.now = 1000;
    expect(await text('a')).toBe('2 {"reads":2}');
  });

  it('separates keys', async () => {
    const { text } = setUp();
    await text('a');
    expect(await text('b')).toBe('1 {"reads":2}');
  });

  it('reads no body until one is needed', async () => {
    const { cached, source, text } = setUp();
    expect((await cached(source('a'))).revision).toBe('1');
    expect(await text('b')).toBe('1 {"reads":1}');
  });

  it.each(['revision', 'read'] as const)('does not retain an error of %s', async (method) => {
    const { cached, source, text } = setUp();
    const broken = { ...source('a'), [method]: () => Promise.reject(new Error('away')) };
    const body = cached(broken).then((json) => json.body());
    await expect(body).rejects.toThrow('away');
    expect(await text('a')).toBe('1 {"reads":1}');
  });

  it('retains 32 bodies and evicts the oldest', async () => {
    const { text } = setUp();
    for (let key = 1; key <= 33; key += 1) await text(`${key}`);
    expect(await text('2')).toBe('1 {"reads":2}');
    expect(await text('1')).toBe('1 {"reads":34}');
  });

  it('compresses a body once', async () => {
    const { cached, source } = setUp();
    const body = await (await cached(source('a'))).body();
    const gzipped = await body.gzipped();
    expect(gunzipSync(gzipped).toString()).toBe('{"reads":1}');
    expect(await body.gzipped()).toBe(gzipped);
  });
});
