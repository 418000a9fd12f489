import { expect, test } from 'vitest';
import { z } from 'zod';
import { toSendableSchema } from './output-schema.js';

const closed = { type: 'object', properties: { a: { type: 'number' } }, additionalProperties: false };
const open = { type: 'object', properties: { a: { type: 'number' } } };

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  ['an object is closed', { $schema: 'x', ...open }, closed],
  ['an open object stays open', { ...open, additionalProperties: true }, { ...open, additionalProperties: true }],
  [
    'inner objects are closed',
    { type: 'object', properties: { list: { type: 'array', items: open } } },
    { type: 'object', properties: { list: { type: 'array', items: closed } }, additionalProperties: false },
  ],
  [
    'a map keeps its values',
    { type: 'object', additionalProperties: open },
    { type: 'object', additionalProperties: closed },
  ],
])('%s', (_, schema, sent) => {
  expect(toSendableSchema(schema)).toEqual({ sent, isWrapped: false });
});

test('parts of one object stay open', () => {
  const parts = [open, { properties: { b: {} } }];
  expect(toSendableSchema({ type: 'object', allOf: parts }).sent['$defs']).toEqual({
    value: { type: 'object', allOf: parts },
  });
});

test('a reference into a schema that is not an object refers to its new place', () => {
  const { sent } = toSendableSchema({ anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/anyOf/0' } }] });
  expect(sent['$defs']).toMatchObject({ value: { anyOf: [{}, { items: { $ref: '#/$defs/value/anyOf/0' } }] } });
});

test('a recursive schema that is not an object refers to its new place', () => {
  const { sent, isWrapped } = toSendableSchema({
    anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#' } }],
  });
  expect(isWrapped).toBe(true);
  expect(sent['$defs']).toEqual({
    value: { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/$defs/value' } }] },
  });
});

test('definitions of a schema that is not an object stay at the root', () => {
  const schema = { $defs: { a: open }, anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] };
  expect(toSendableSchema(schema).sent['$defs']).toEqual({
    a: closed,
    value: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] },
  });
});

test('a discriminated union of zod is wrapped', () => {
  const union = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]);
  expect(toSendableSchema(z.toJSONSchema(union, { io: 'input' }))).toMatchObject({ isWrapped: true });
});
