import fc from 'fast-check';
import { expect, it } from 'vitest';
import { groupOfError, maskMessage } from './error-mask.js';

it.each([
  ['card declined', 'card declined'],
  ['order 4711 failed after 3.5 s', 'order # failed after # s'],
  ['order "tea pot" is unknown', 'order "…" is unknown'],
  ["no customer 'ada', sorry", 'no customer "…", sorry'],
  ["can't reach the shop's server", "can't reach the shop's server"],
  ['request 3f2b8c1e-9d4a-4f6b-8e2a-1c3d5e7f9a0b timed out', 'request # timed out'],
  ['customer cus_N8xQ2k7LmP3z not found.', 'customer # not found.'],
  ['charge ch_3f9a01b2c4 was refused', 'charge ch_# was refused'],
  ['mail to ada.lovelace@example.org bounced', 'mail to # bounced'],
  ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED #'],
  ['utf8 text for eu1', 'utf# text for eu#'],
  ['', ''],
])('masks %j as %j', (message, masked) => {
  expect(maskMessage(message)).toBe(masked);
});

it('masks messages that differ in numbers and quoted texts alike', () => {
  const text = fc.stringMatching(/^[a-z ]{0,12}$/);
  fc.assert(
    fc.property(fc.nat(), fc.nat(), text, text, (a, b, one, other) => {
      expect(maskMessage(`order ${a} of "${one}" failed`)).toBe(maskMessage(`order ${b} of "${other}" failed`));
    }),
  );
});

it('cuts a message', () => {
  for (const text of ['a', '-', '@', '"', "'a ", '1.', 'a@']) {
    expect(maskMessage(text.repeat(100_000)).length).toBeLessThanOrEqual(256);
  }
});

it('derives an id from type, name and message', () => {
  const ids = [
    groupOfError('a', { name: 'Error', message: 'no' }).id,
    groupOfError('b', { name: 'Error', message: 'no' }).id,
    groupOfError('a', { name: 'TypeError', message: 'no' }).id,
    groupOfError('a', { name: 'Error', message: 'yes' }).id,
  ];
  expect(new Set(ids).size).toBe(4);
  expect(ids[0]).toMatch(/^[\da-f]{12}$/);
});
