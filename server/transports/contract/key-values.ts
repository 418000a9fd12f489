import { describe, expect, it } from 'vitest';
import { KeyTypeError } from '../errors.js';
import type { ContractStage } from './contract-stage.js';

/** The key-value store. */
export function describeKeyValues({ advance, connect }: ContractStage): void {
  describe('key-value store', () => {
    it('stores, finds and deletes', async () => {
      const { kv } = connect('shop');
      expect(await kv.get('k')).toBeUndefined();
      expect(await kv.set('k', 'one')).toBe(true);
      expect(await kv.set('k', 'two', { ifAbsent: true })).toBe(false);
      expect(await connect('mail').kv.get('k')).toBe('one');
      expect(await kv.delete('k')).toBe(true);
      expect(await kv.delete('k')).toBe(false);
      expect(await kv.set('k', 'two', { ifAbsent: true })).toBe(true);
    });

    it('forgets at the end of ttlMs, which each call sets anew', async () => {
      const { kv } = connect('shop');
      await kv.set('string', 'x', { ttlMs: 1_000 });
      await kv.append('list', ['x'], { ttlMs: 1_000 });
      await kv.increment('number', 1, 1_000);
      await advance(600);
      await kv.append('list', ['y'], { ttlMs: 1_000 });
      await kv.increment('number', 1, 1_000);
      await advance(600);
      expect(await kv.get('string')).toBeUndefined();
      expect(await kv.range('list', 0, -1)).toEqual(['x', 'y']);
      expect(await kv.get('number')).toBe('2');
      await advance(600);
      expect(await kv.range('list', 0, -1)).toEqual([]);
      expect(await kv.set('string', 'y', { ifAbsent: true })).toBe(true);
    });

    it('increments without losing one', async () => {
      const { kv } = connect('shop');
      await Promise.all(Array.from({ length: 50 }, () => kv.increment('n')));
      expect(await kv.increment('n', -8)).toBe(42);
    });

    it('appends, keeps the last, and loses none of many at once', async () => {
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

    it('takes no key for what it is not', async () => {
      const { kv } = connect('shop');
      await kv.set('string', 'x');
      await kv.append('list', ['x']);
      await expect(kv.append('string', ['y'])).rejects.toThrow(KeyTypeError);
      await expect(kv.range('string', 0, -1)).rejects.toThrow(KeyTypeError);
      await expect(kv.get('list')).rejects.toThrow(KeyTypeError);
      await expect(kv.increment('string')).rejects.toThrow(KeyTypeError);
      expect(await kv.get('__proto__')).toBeUndefined();
    });
  });
}
