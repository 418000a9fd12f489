import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../errors.js';
import { BackpressureError, KeyTypeError } from '../../errors.js';
import type { KeyValueStore } from '../../key-values.js';
import type { ContractStage } from '../contract-stage.js';

/** Tests the key-value store. */
export function describeKeyValues({ advance, connect, now }: ContractStage): void {
  describe('key-value store', () => {
    it('returns the time of the transport', async () => {
      const { kv } = connect('shop');
      const before = await now();
      const time = await kv.now();
      expect(time).toBeGreaterThanOrEqual(before);
      expect(time).toBeLessThanOrEqual(await now());
    });

    it('sets, gets and deletes', async () => {
      const { kv } = connect('shop');
      expect(await kv.get('k')).toBeUndefined();
      expect(await kv.set('k', 'one')).toBe(true);
      expect(await kv.set('k', 'two', { ifAbsent: true })).toBe(false);
      expect(await connect('mail').kv.get('k')).toBe('one');
      expect(await kv.delete('k')).toBe(true);
      expect(await kv.delete('k')).toBe(false);
      expect(await kv.set('k', 'two', { ifAbsent: true })).toBe(true);
    });

    it('expires keys after ttlMs, which each call replaces', async () => {
      const { kv } = connect('shop');
      const short = { ttlMs: 500 };
      const long = { ttlMs: 60_000 };
      for (const [name, first, second] of [
        ['longer', short, long],
        ['shorter', long, short],
      ] as const) {
        await kv.set(`${name} string`, 'x', first);
        await kv.set(`${name} string`, 'y', second);
        await kv.append(`${name} list`, ['x'], first);
        await kv.append(`${name} list`, ['y'], second);
        await kv.increment(`${name} number`, 1, first.ttlMs);
        await kv.increment(`${name} number`, 1, second.ttlMs);
      }
      await advance(600);
      expect(await kv.get('longer string')).toBe('y');
      // The first part expires before the second call on a machine that stalls.
      expect((await kv.range('longer list', 0, -1)).at(-1)).toBe('y');
      expect(await kv.get('longer number')).toBeDefined();
      expect(await kv.get('shorter string')).toBeUndefined();
      expect(await kv.range('shorter list', 0, -1)).toEqual([]);
      expect(await kv.get('shorter number')).toBeUndefined();
      expect(await kv.set('shorter string', 'z', { ifAbsent: true })).toBe(true);
    });

    it('sets a value only in place of the expected one', async () => {
      const { kv } = connect('shop');
      expect(await kv.compareAndSet('k', 'a', 'b')).toBe(false);
      expect(await kv.compareAndSet('k', undefined, 'a')).toBe(true);
      expect(await kv.compareAndSet('k', undefined, 'b')).toBe(false);
      expect(await kv.compareAndSet('k', 'other', 'b')).toBe(false);
      expect(await kv.get('k')).toBe('a');
      expect(await kv.compareAndSet('k', 'a', 'b', { ttlMs: 500 })).toBe(true);
      await advance(600);
      expect(await kv.compareAndSet('k', 'b', 'c')).toBe(false);
      expect(await kv.compareAndSet('k', undefined, '')).toBe(true);
      expect(await kv.compareAndSet('k', '', '7')).toBe(true);
      expect(await kv.compareAndSet('k', '7', 'd')).toBe(true);
      await kv.append('list', ['x']);
      await expect(kv.compareAndSet('list', undefined, 'y')).rejects.toThrow(KeyTypeError);
    });

    it('lets one of several callers set the value', async () => {
      const stores = ['shop', 'mail'].map((service) => connect(service).kv);
      await stores[0]?.set('k', '0');
      const won = await Promise.all(
        Array.from({ length: 20 }, (_, i) => stores[i % 2]?.compareAndSet('k', '0', `by ${i}`)),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await stores[1]?.get('k')).toBe(`by ${won.indexOf(true)}`);
    });

    it('increments atomically', async () => {
      const { kv } = connect('shop');
      await Promise.all(Array.from({ length: 50 }, () => kv.increment('n')));
      expect(await kv.increment('n', -8)).toBe(42);
    });

    it('appends atomically and retains the last entries', async () => {
      const { kv } = connect('shop');
      expect(await kv.append('l', ['a', 'b', 'c'])).toBe(3);
      expect(await kv.append('l', ['d', 'e'], { keepLast: 3 })).toBe(3);
      expect(await kv.range('l', 0, -1)).toEqual(['c', 'd', 'e']);
      expect(await kv.range('l', 1, 1)).toEqual(['d']);
      expect(await kv.range('l', -2, -1)).toEqual(['d', 'e']);
      expect(await kv.range('l', 5, 9)).toEqual([]);
      await Promise.all(Array.from({ length: 50 }, (_, i) => kv.append('many', [String(i)])));
      expect(new Set(await kv.range('many', 0, -1)).size).toBe(50);
    });

    it('rejects operations on the wrong kind of value', async () => {
      const { kv } = connect('shop');
      await kv.set('string', 'x');
      await kv.append('list', ['x']);
      await expect(kv.append('string', ['y'])).rejects.toThrow(KeyTypeError);
      await expect(kv.range('string', 0, -1)).rejects.toThrow(KeyTypeError);
      await expect(kv.get('list')).rejects.toThrow(KeyTypeError);
      await expect(kv.increment('string')).rejects.toThrow(KeyTypeError);
      expect(await kv.get('__proto__')).toBeUndefined();
    });

    it('handles empty ranges and empty appends', async () => {
      const { kv } = connect('shop');
      expect(await kv.append('l', [])).toBe(0);
      expect(await kv.delete('l')).toBe(false);
      await kv.append('l', ['a', 'b', 'c']);
      expect(await kv.append('l', [])).toBe(3);
      for (const [from, to] of [
        [0, -4],
        [0, -5],
        [2, 1],
        [-1, -3],
      ] as const) {
        expect(await kv.range('l', from, to)).toEqual([]);
      }
      expect(await kv.range('l', -9, 9)).toEqual(['a', 'b', 'c']);
    });

    it.each(['007', '-0', '1.5', ' 1', '', 'x'])('does not accept %j as a whole number', async (value) => {
      const { kv } = connect('shop');
      await kv.set('k', value);
      await expect(kv.increment('k')).rejects.toThrow(KeyTypeError);
      expect(await kv.get('k')).toBe(value);
    });

    it('limits the length of a list', async () => {
      const { kv } = connect('shop');
      const values = Array.from({ length: 10_000 }, () => '');
      for (let i = 0; i < 100; i += 1) await kv.append('l', values);
      await expect(kv.append('l', ['one more'])).rejects.toThrow(BackpressureError);
      expect(await kv.range('l', -1, -1)).toEqual(['']);
      expect(await kv.append('l', ['one more'], { keepLast: 2 })).toBe(2);
    });

    const wrong: [string, (kv: KeyValueStore) => Promise<unknown>][] = [
      ['an empty key', (kv) => kv.get('')],
      ['a key with a lone surrogate', (kv) => kv.delete('\ud83d')],
      ['a key that is not a string', (kv) => kv.get(7 as never)],
      ['a value that is not a string', (kv) => kv.set('k', 7 as never)],
      ['a value with a lone surrogate', (kv) => kv.set('k', '\ud83d')],
      ['a value that is too long', (kv) => kv.set('k', 'x'.repeat(16_777_217))],
      ['a ttlMs of NaN', (kv) => kv.set('k', 'x', { ttlMs: Number.NaN })],
      ['a negative ttlMs', (kv) => kv.append('k', ['x'], { ttlMs: -1 })],
      ['a ttlMs of 0', (kv) => kv.increment('k', 1, 0)],
      ['an infinite ttlMs', (kv) => kv.set('k', 'x', { ttlMs: Number.POSITIVE_INFINITY })],
      ['a misspelt option', (kv) => kv.set('k', 'x', { ttl: 1 } as never)],
      ['an ifAbsent that is not a boolean', (kv) => kv.set('k', 'x', { ifAbsent: 1 } as never)],
      ['a fractional increment', (kv) => kv.increment('k', 0.5)],
      ['keepLast 0', (kv) => kv.append('k', ['x'], { keepLast: 0 })],
      ['a fractional keepLast', (kv) => kv.append('k', ['x'], { keepLast: 1.5 })],
      ['values that are not an array', (kv) => kv.append('k', 'xy' as never)],
      ['an array with a value that is not a string', (kv) => kv.append('k', ['x', 7 as never])],
      [
        'too many values',
        (kv) =>
          kv.append(
            'k',
            Array.from({ length: 10_001 }, () => ''),
          ),
      ],
      ['a range from NaN', (kv) => kv.range('k', Number.NaN, -1)],
      ['a range to a fractional index', (kv) => kv.range('k', 0, 0.5)],
    ];
    it.each(wrong)('refuses %s and changes nothing', async (_, use) => {
      const { kv } = connect('shop');
      await expect(use(kv)).rejects.toThrow(InvalidOptionError);
      expect(await kv.delete('k')).toBe(false);
    });

    it('accepts the longest and the shortest ttlMs', async () => {
      const { kv } = connect('shop');
      await kv.set('k', 'x', { ttlMs: Number.MAX_VALUE });
      await kv.increment('n', 1, 0.5);
      expect(await kv.get('k')).toBe('x');
      await advance(5);
      expect(await kv.get('n')).toBeUndefined();
    });
  });
}
