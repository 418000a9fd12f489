import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../errors.js';
import type { BoundedLog, LogBounds } from '../../bounded-log.js';
import type { ContractStage } from '../contract-stage.js';

const bounds: LogBounds = { maxEntries: 1_000, maxBytes: 1_000_000, maxAgeMs: 3_600_000 };

/** Tests the bounded log. */
export function describeBoundedLog({ advance, connect, now, until }: ContractStage): void {
  describe('bounded log', () => {
    it('numbers entries from 0, and reads them from any number on and through any connection', async () => {
      const { log } = connect('shop');
      const before = await now();
      expect(await log.append('audit', ['a', 'b'], bounds)).toBe(0);
      expect(await log.append('audit', ['c'], bounds)).toBe(2);
      const page = await connect('mail').log.read('audit');
      expect(page).toMatchObject({ first: 0, next: 3 });
      expect(page.entries.map(({ sequence, text }) => [sequence, text])).toEqual([
        [0, 'a'],
        [1, 'b'],
        [2, 'c'],
      ]);
      for (const { at } of page.entries) {
        expect(at).toBeGreaterThanOrEqual(before);
        expect(at).toBeLessThanOrEqual(await now());
      }
      expect(await texts(log, 'audit', { from: 1 })).toEqual(['b', 'c']);
      expect(await texts(log, 'audit', { from: 1, limit: 1 })).toEqual(['b']);
      expect(await log.read('audit', { from: 3 })).toEqual({ entries: [], first: 0, next: 3 });
      expect(await log.read('audit', { from: 9 })).toEqual({ entries: [], first: 0, next: 3 });
    });

    it('numbers concurrent appends of several connections without gaps', async () => {
      const logs = ['shop', 'mail'].map((service) => connect(service).log);
      const appended = Array.from({ length: 40 }, (_, i) => logs[i % 2]?.append('l', [`${i}`, `${i}'`], bounds));
      const numbers = await Promise.all(appended);
      expect(new Set(numbers)).toEqual(new Set(Array.from({ length: 40 }, (_, i) => 2 * i)));
      const { entries } = await connect('shop').log.read('l');
      expect(entries.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 80 }, (_, i) => i));
      for (const [i, first] of numbers.entries()) {
        expect(entries.slice(first, (first ?? 0) + 2).map(({ text }) => text)).toEqual([`${i}`, `${i}'`]);
      }
    });

    it('drops the oldest entries beyond a number', async () => {
      const { log } = connect('shop');
      const three = { ...bounds, maxEntries: 3 };
      await log.append('l', ['a', 'b'], three);
      await log.append('l', ['c', 'd'], three);
      expect(await log.read('l', { from: 0 })).toMatchObject({ first: 1, next: 4 });
      expect(await texts(log, 'l', { from: 0 })).toEqual(['b', 'c', 'd']);
      await log.append('l', ['e', 'f', 'g', 'h', 'i'], three);
      expect(await log.read('l', { from: 2, limit: 1 })).toMatchObject({
        entries: [{ sequence: 6 }],
        first: 6,
        next: 9,
      });
    });

    it('drops the oldest entries beyond a size in bytes, but not the newest one', async () => {
      const { log } = connect('shop');
      // Longer than what a codec adds to a text.
      const [four, long] = ['é'.repeat(2_000), 'x'.repeat(9_000)];
      const size = { ...bounds, maxBytes: 16_000 };
      await log.append('l', [four, four], size);
      expect(await texts(log, 'l')).toEqual([four, four]);
      await log.append('l', [four, four, four], size);
      const { entries, first, next } = await log.read('l');
      expect([first, next]).toEqual([5 - entries.length, 5]);
      expect(entries.length).toBeGreaterThanOrEqual(2);
      expect(entries.length).toBeLessThanOrEqual(4);
      await log.append('l', [long], size);
      await log.append('l', [long], { ...size, maxBytes: 9_000 });
      expect(await texts(log, 'l')).toEqual([long]);
    });

    it('drops entries at an age, and begins again after the last one', async () => {
      const { log } = connect('shop');
      await log.append('l', ['a'], { ...bounds, maxAgeMs: 500 });
      await log.append('l', ['b'], bounds);
      await advance(600);
      expect(await log.read('l')).toMatchObject({ entries: [{ sequence: 1, text: 'b' }], first: 1, next: 2 });
      await log.append('short', ['a'], { ...bounds, maxAgeMs: 500 });
      await advance(600);
      expect(await log.read('short')).toEqual({ entries: [], first: 0, next: 0 });
      expect(await log.append('short', ['b'], bounds)).toBe(0);
    });

    it('announces appends of any connection, until the watch ends', async () => {
      const [shop, mail] = [connect('shop').log, connect('mail').log];
      const seen: string[] = [];
      const watch = (name: string, label: string) => mail.watch(name, () => seen.push(label));
      const ends = [await watch('l', 'a'), await watch('l', 'b'), await watch('other', 'c')];
      await shop.append('l', ['1'], bounds);
      await until(() => seen.includes('a') && seen.includes('b'));
      ends[0]?.();
      seen.length = 0;
      await mail.append('l', ['2'], bounds);
      await until(() => seen.includes('b'));
      expect(seen).not.toContain('a');
      for (const end of ends) end();
    });

    it('deletes one log', async () => {
      const { log } = connect('shop');
      await log.append('l', ['a'], bounds);
      await log.append('__proto__', ['b\0\u0001'], bounds);
      expect(await log.delete('l')).toBe(true);
      expect(await log.delete('l')).toBe(false);
      expect(await log.read('l')).toEqual({ entries: [], first: 0, next: 0 });
      expect(await texts(log, '__proto__')).toEqual(['b\0\u0001']);
    });

    it('is not a key of the key-value store', async () => {
      const { kv, log } = connect('shop');
      await kv.set('k', 'v');
      await log.append('k', ['a'], bounds);
      expect(await kv.get('k')).toBe('v');
      expect(await texts(log, 'k')).toEqual(['a']);
    });

    it.each<[string, (log: BoundedLog) => Promise<unknown>]>([
      ['an empty name', (log) => log.append('', ['a'], bounds)],
      ['half of a surrogate pair', (log) => log.append('l', ['\ud800'], bounds)],
      ['no entries', (log) => log.append('l', [], bounds)],
      ['an entry above maxBytes', (log) => log.append('l', ['aé'], { ...bounds, maxBytes: 2 })],
      ['no maxEntries', (log) => log.append('l', ['a'], { ...bounds, maxEntries: 0 })],
      ['too many maxEntries', (log) => log.append('l', ['a'], { ...bounds, maxEntries: 100_001 })],
      ['an endless age', (log) => log.append('l', ['a'], { ...bounds, maxAgeMs: Number.POSITIVE_INFINITY })],
      ['a negative number', (log) => log.read('l', { from: -1 })],
      ['a limit of 0', (log) => log.read('l', { limit: 0 })],
    ])('refuses %s', async (_, act) => {
      await expect(act(connect('shop').log)).rejects.toThrow(InvalidOptionError);
    });
  });
}

async function texts(log: BoundedLog, name: string, options?: { from?: number; limit?: number }): Promise<string[]> {
  return (await log.read(name, options)).entries.map(({ text }) => text);
}
