import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commonLimit, cutToBytes, jsonBytes } from './shorten-result.js';

const texts = fc
  .array(fc.constantFrom('a', 'é', '中', '🙂', '"', '\n', '\u0001', 'word '), { maxLength: 400 })
  .map((parts) => parts.join(''));

test('a cut text fits, starts as the whole one, and says how much is missing, also after a second cut', () => {
  fc.assert(
    fc.property(
      texts,
      fc.integer({ min: 2, max: 1_500 }),
      fc.integer({ min: 2, max: 1_500 }),
      (whole, first, second) => {
        const once = cutToBytes(whole, first);
        const twice = cutToBytes(once.text, second, once.omittedChars);
        for (const [{ text, omittedChars }, maxBytes] of [
          [once, first],
          [twice, second],
        ] as const) {
          expect(jsonBytes(text)).toBeLessThanOrEqual(maxBytes);
          const kept = whole.slice(0, whole.length - omittedChars);
          const note = `\n\n[The answer is cut: ${omittedChars} of ${whole.length} characters are missing.]`;
          expect([kept, kept === '' ? '' : kept + note, kept + note]).toContain(text);
          if (omittedChars > 0 && maxBytes >= 200 && once.text !== '') expect(text.endsWith(note)).toBe(true);
          // Throws if a pair is split.
          expect(() => encodeURIComponent(kept)).not.toThrow();
        }
        expect(once.omittedChars === 0).toBe(jsonBytes(whole) <= first);
        if (jsonBytes(whole) > first && first >= 200) expect(jsonBytes(once.text)).toBeGreaterThan(first - 30);
      },
    ),
    { numRuns: 1_000 },
  );
});

test.each([
  ['the longest parts are cut to the same length', [100, 2_000, 3_000], 1_100, 500],
  ['nothing is cut if there is room', [100, 200], 1_000, 1_000],
  ['a part that cannot be cut leaves less to the others', [900, 900, { bytes: 800, minBytes: 800 }], 1_000, 100],
  ['there may be no room', [{ bytes: 800, minBytes: 800 }], 700, undefined],
])('%s', (_, parts, maxBytes, expected) => {
  const limit = commonLimit(
    parts.map((part) => (typeof part === 'number' ? { bytes: part, minBytes: 2 } : part)),
    maxBytes,
  );
  expect(limit).toBe(expected);
});
