import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PartialJson } from './partial-json.js';

/** Returns the last value that a reader showed of a text that comes in these parts. */
function lastOf(...parts: string[]): unknown {
  const reader = new PartialJson();
  let last: unknown;
  for (const part of parts) last = reader.add(part) ?? last;
  return last;
}

describe('PartialJson', () => {
  it.each([
    ['{', {}],
    ['{"title', {}],
    ['{"title":', {}],
    ['{"title": "Gre', { title: 'Gre' }],
    ['{"title": "Gre\\', { title: 'Gre' }],
    ['{"title": "Gre\\u00', { title: 'Gre' }],
    ['{"title": "Gre\\u00e', { title: 'Gre' }],
    ['{"title": "Gre\\u00e9', { title: 'Greé' }],
    ['{"title": "a\\"b', { title: 'a"b' }],
    ['{"count": 12', {}],
    ['{"count": 12,', { count: 12 }],
    ['{"count": 12, "next": tru', { count: 12 }],
    ['{"items": [{"id": 1}, {"id": 2', { items: [{ id: 1 }, {}] }],
    ['{"items": [1, 2], "x": nul', { items: [1, 2] }],
    ['```json\n["a", "b', ['a', 'b']],
    ['{"a": 1} and more {', { a: 1 }],
    ['', undefined],
    ['no value', undefined],
  ])('shows what is complete of %j', (text, value) => {
    expect(lastOf(text)).toEqual(value);
  });

  it('shows nothing of brackets in a sentence, and of a value that is too deep', () => {
    expect(lastOf('[see there]')).toBeUndefined();
    expect(lastOf('['.repeat(100_000))).toBeUndefined();
  });

  it('shows the whole value at its end, in whatever parts it comes', () => {
    const values = fc.oneof(fc.array(fc.jsonValue({ maxDepth: 4 })), fc.dictionary(fc.string(), fc.jsonValue()));
    fc.assert(
      fc.property(values, fc.array(fc.nat({ max: 40 }), { maxLength: 30 }), (value, cuts) => {
        const json = JSON.stringify(value);
        const ends = [...cuts.map((cut) => cut % (json.length + 1)), json.length].sort((a, b) => a - b);
        const parts = ends.map((end, index) => json.slice(ends[index - 1] ?? 0, end));
        expect(lastOf(...parts)).toEqual(JSON.parse(json));
      }),
    );
  });

  it('shows a part of the value at every length', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.string()), (value) => {
        const json = JSON.stringify(value);
        for (let end = 1; end <= json.length; end++) {
          const shown = Object.entries(lastOf(json.slice(0, end)) as object);
          for (const [name, text] of shown)
            expect(
              value[name]?.startsWith(
                String(text)
                  .toWellFormed()
                  .replace(/\uFFFD$/, ''),
              ),
            ).toBe(true);
        }
      }),
    );
  });

  it('parses an answer that comes in 200,000 single characters a few hundred times', () => {
    const reader = new PartialJson();
    let shown = reader.add('{"text":"') === undefined ? 0 : 1;
    for (let i = 0; i < 200_000; i++) if (reader.add('x') !== undefined) shown += 1;
    expect(shown).toBeGreaterThan(50);
    expect(shown).toBeLessThan(600);
  });
});
