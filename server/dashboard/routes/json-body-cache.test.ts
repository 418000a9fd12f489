import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createJsonBodyCache } from './json-body-cache.js';

function setUp() {
  const clock = { now: 0 };
  let reads = 0;
  const cached = createJsonBodyCache(() => clock.now);
  const read = async (): Promise<object> => {
    reads += 1;
    return { reads };
  };
  const text = async (key: string, revision: string): Promise<string> =>
    (await cached(key, revision, read)).plain.toString();
  return { clock, cached, text };
}

describe('createJsonBodyCache', () => {
  it('reads once for concurrent calls', async () => {
    const { text } = setUp();
    const texts = await Promise.all(Array.from({ length: 10 }, () => text('a', '1')));
    expect(new Set(texts)).toEqual(new Set(['{"reads":1}']));
  });

  it('reads again for another revision', async () => {
    const { text } = setUp();
    await text('a', '1');
    expect(await text('a', '2')).toBe('{"reads":2}');
  });

  it('separates keys that have the same revision', async () => {
    const { text } = setUp();
    await text('a', '1');
    expect(await text('b', '1')).toBe('{"reads":2}');
  });

  it('retains a body for less than a second', async () => {
    const { clock, text } = setUp();
    await text('a', '1');
    clock.now = 999;
    expect(await text('a', '1')).toBe('{"reads":1}');
    clock.now = 1000;
    expect(await text('a', '1')).toBe('{"reads":2}');
  });

  it('does not retain an error', async () => {
    const { cached, text } = setUp();
    await expect(cached('a', '1', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await text('a', '1')).toBe('{"reads":1}');
  });

  it('retains 32 bodies and evicts the oldest', async () => {
    const { text } = setUp();
    for (let key = 1; key <= 33; key += 1) await text(`${key}`, '1');
    expect(await text('2', '1')).toBe('{"reads":2}');
    expect(await text('1', '1')).toBe('{"reads":34}');
  });

  it('compresses a body once', async () => {
    const { cached } = setUp();
    const body = await cached('a', '1', async () => ({ a: 1 }));
    const gzipped = await body.gzipped();
    expect(gunzipSync(gzipped).toString()).toBe('{"a":1}');
    expect(await body.gzipped()).toBe(gzipped);
  });
});
