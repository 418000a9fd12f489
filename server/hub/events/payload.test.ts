import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PayloadNotJsonError, PayloadTooLargeError } from '../errors.js';
import { payloads } from './payload.fixture.js';
import { encodePayload, takeSnapshot } from './payload.js';

const limit = 512 * 1024;

it('encodes any JSON value without loss', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      fc.pre(!JSON.stringify(value).includes('__proto__'));
      expect(JSON.parse(encodePayload(value, 'a', limit))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it('copies what parsing the JSON would return, and calls each getter and toJSON once', () => {
  fc.assert(
    fc.property(payloads, (inner) => {
      let calls = 0;
      const payload = {
        get inner() {
          calls += 1;
          return inner;
        },
      };
      const snapshot = takeSnapshot(payload, 'a', limit);
      expect(calls).toBe(1);
      const copies = [snapshot.copy(), snapshot.take(), snapshot.take()];
      const { json } = snapshot;
      copies.push(snapshot.copy(), snapshot.take(), snapshot.take());
      snapshot.pack();
      copies.push(snapshot.copy(), snapshot.take());
      for (const copy of copies) expect(copy).toStrictEqual(JSON.parse(json));
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(payload)));
    }),
  );
});

it('measures the JSON, and rejects exactly the payloads whose JSON is larger than the limit', () => {
  const text = fc.string({ unit: 'binary', maxLength: 200 });
  const key = text.filter((name) => name !== '__proto__');
  const number = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }));
  fc.assert(
    fc.property(fc.oneof(payloads, text, number, fc.dictionary(key, number)), (payload) => {
      fc.pre(payload !== undefined);
      const bytes = Buffer.byteLength(JSON.stringify(payload));
      expect(takeSnapshot(payload, 'a', bytes).size).toBe(bytes);
      expect(() => takeSnapshot(payload, 'a', bytes - 1)).toThrow(PayloadTooLargeError);
    }),
  );
});

it('rejects values that JSON would change silently, at any depth', () => {
  const bad = fc.constantFrom<unknown>(
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    1n,
    Symbol('x'),
    () => 1,
    new Map(),
    new Set(),
    new Error('x'),
    /x/,
    new Uint8Array(2),
    new Date(Number.NaN),
  );
  const path = fc.array(fc.oneof(fc.string(), fc.nat(3)), { maxLength: 5 });
  fc.assert(
    fc.property(bad, path, (value, steps) => {
      const payload = steps.reduceRight<unknown>(
        (inner, key) => (typeof key === 'number' ? [...Array(key).fill(0), inner] : Object.fromEntries([[key, inner]])),
        value,
      );
      expect(() => encodePayload(payload, 'a', limit)).toThrow(PayloadNotJsonError);
    }),
  );
});

it.each([
  ['dates as text', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  ['the result of toJSON', { money: { toJSON: () => 5 } }, '{"money":5}'],
  ['a date that toJSON returns', { at: { toJSON: () => new Date(0) } }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  [
    'properties of class instances',
    new (class Order {
      id = 1;
      total(): number {
        return 1;
      }
    })(),
    '{"id":1}',
  ],
  ['no undefined property', { a: undefined, b: 1 }, '{"b":1}'],
  ['an object without prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ['one object in two places', ((shared) => ({ a: shared, b: shared }))({ x: 1 }), '{"a":{"x":1},"b":{"x":1}}'],
  ['a key constructor', { constructor: { name: 'x' }, prototype: 1 }, '{"constructor":{"name":"x"},"prototype":1}'],
])('encodes %s', (_, payload, json) => {
  expect(encodePayload(payload, 'a', limit)).toBe(json);
});

it.each(['{"a":[{"__proto__":1}]}', '{"a":[{"constructor":{"prototype":{}}}]}'])(
  'rejects %s, which a recursive merge would write into a prototype',
  (json) => {
    expect(() => encodePayload(JSON.parse(json), 'a', limit)).toThrow(/^payload\.a\[0\]\.\w+ is a prototype/);
  },
);

it.each([
  ['arrays', (deep: unknown) => [deep]],
  ['objects', (deep: unknown) => ({ deep })],
])('accepts 100 levels of %s and rejects more', (_, wrap) => {
  const nested = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = wrap(value);
    return value;
  };
  expect(encodePayload(nested(100), 'a', limit)).toContain('1');
  for (const levels of [101, 200_000]) {
    expect(() => encodePayload(nested(levels), 'a', limit)).toThrow(/ is nested more than 100 levels deep/);
  }
});

it('rejects a payload that is far too large without reading all of it', () => {
  let read = 0;
  const item = {
    get text(): string {
      read += 1;
      return 'x'.repeat(1_000);
    },
  };
  const payload = Array.from({ length: 100_000 }, () => item);
  expect(() => encodePayload(payload, 'a', limit)).toThrow(/is at least \d+ bytes of JSON, over maxPayloadBytes/);
  expect(read).toBeLessThan(1_000);
});

it('rejects a payload that is too large', () => {
  expect(() => encodePayload('text', 'a', 5)).toThrow(
    'payload of "a" is at least 6 bytes of JSON, over maxPayloadBytes (5)',
  );
  expect(() => encodePayload('text', 'a', 5, 'result')).toThrow('result of "a" is at least 6 bytes');
});
