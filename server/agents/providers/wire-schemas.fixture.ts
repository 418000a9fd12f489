import { z } from 'zod';
import type { JsonSchema } from '../../json-schema.js';

/** Schema of a tool's arguments or of an answer, with a value that it accepts. */
export type SchemaRow = readonly [name: string, schema: JsonSchema, sample: unknown];

const fromZod = (schema: z.ZodType): JsonSchema => {
  // Agents take this form of a schema.
  const { '~standard': standard } = schema as unknown as {
    '~standard': { jsonSchema: { input(options: object): JsonSchema } };
  };
  return standard.jsonSchema.input({ target: 'draft-2020-12' });
};

const zod = (name: string, schema: z.ZodType, value: unknown): SchemaRow => [
  `zod: ${name}`,
  fromZod(z.object({ field: schema })),
  value === undefined ? {} : { field: value },
];

/** Row whose schema is that of the property `field`. */
const json = (name: string, field: unknown, value: unknown, root: object = {}): SchemaRow => [
  name,
  { type: 'object', properties: { field }, required: ['field'], ...root },
  { field: value },
];

const node: z.ZodType = z.object({ name: z.string(), children: z.array(z.lazy(() => node)) });
const person = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const branch = (kind: string, more: object) => ({
  type: 'object',
  properties: { kind: { const: kind }, ...more },
  required: ['kind', ...Object.keys(more)],
});
const a = branch('a', { a: { type: 'number' } });
const b = branch('b', { b: { type: 'string' } });

export const rows: readonly SchemaRow[] = [
  zod('a text', z.string(), 'x'),
  zod('a description', z.string().describe('Name of the city'), 'x'),
  zod('limits of a number', z.number().min(3).max(77), 5),
  zod('an integer', z.int().positive(), 5),
  zod('limits of a text', z.string().min(3).max(77), 'xyz'),
  zod('a pattern', z.string().regex(/^[a-z]{3}$/), 'abc'),
  zod('an email', z.email(), 'a@example.com'),
  zod('a UUID', z.uuid(), '5f0c2b6e-6d1f-4c53-9f0b-1f1f6f1c9b11'),
  zod('a date', z.iso.date(), '2031-01-01'),
  zod('a time', z.iso.datetime(), '2031-01-01T00:00:00Z'),
  zod('an enum', z.enum(['red', 'green']), 'red'),
  zod('a literal', z.literal('red'), 'red'),
  zod('a literal number', z.literal(42), 42),
  zod('a literal that is true', z.literal(true), true),
  zod('literals of mixed types', z.literal(['red', 7, true, null]), 7),
  zod('literal numbers', z.literal([1, 2, 3]), 2),
  zod('an empty literal', z.literal(['', 'x']), ''),
  zod('null', z.null(), null),
  zod('a nullable', z.string().nullable(), null),
  zod('a nullable enum', z.enum(['red', 'green']).nullable(), null),
  zod('a nullable object', z.object({ x: z.string() }).nullable(), null),
  zod('an optional', z.string().optional(), undefined),
  zod('a default', z.string().default('fallback'), 'x'),
  zod('a union', z.union([z.string(), z.number()]), 5),
  zod('a union with limits', z.union([z.string().max(9), z.number().min(4)]).describe('Key'), 5),
  zod('a union with null', z.union([z.string(), z.number(), z.null()]), null),
  zod(
    'a discriminated union',
    z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
    { k: 'a' },
  ),
  zod('an intersection', z.intersection(z.object({ x: z.string() }), z.object({ y: z.number() })), { x: 'x', y: 1 }),
  zod('a record', z.record(z.string(), z.number()), { any: 5 }),
  zod('a record with limits', z.record(z.string().min(2), z.number().max(9)), { any: 5 }),
  zod('a loose object', z.looseObject({ x: z.string() }), { x: 'x', other: 1 }),
  zod('an object with a catch-all', z.object({ x: z.string() }).catchall(z.number()), { x: 'x', other: 1 }),
  zod('an empty object', z.object({}), {}),
  zod('any', z.any(), { a: [1] }),
  zod('unknown', z.unknown(), [1]),
  zod('a list', z.array(z.string()).min(2).max(6), ['x', 'y']),
  zod('a list of unknown', z.array(z.unknown()), [1, 'x']),
  zod('a tuple', z.tuple([z.string(), z.number()]), ['x', 1]),
  zod('a tuple with a rest', z.tuple([z.string()], z.number()), ['x', 1, 2]),
  zod('a recursion', node, { name: 'x', children: [{ name: 'y', children: [] }] }),
  zod(
    'many optionals',
    z.object(Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`o${i}`, z.string().optional()]))),
    {},
  ),
  json('a list of types', { type: ['string', 'integer', 'null'], minLength: 2, maximum: 9 }, 5),
  json('no type beside limits', { minimum: 2, maximum: 9 }, 5),
  json('no type', { description: 'Anything' }, 5),
  json('true', true, 5),
  json('a list without items', { type: 'array' }, [1]),
  json('an object without properties', { type: 'object' }, { a: 1 }),
  json(
    'a reference with siblings',
    { $ref: '#/$defs/p', description: 'The buyer' },
    { name: 'x' },
    { $defs: { p: person } },
  ),
  json('two references', { anyOf: [{ $ref: '#/$defs/p' }, { type: 'null' }] }, null, { $defs: { p: person } }),
  json('a reference into properties', { type: 'array', items: { $ref: '#/properties/first' } }, ['x'], {
    properties: {
      first: { type: 'string', maxLength: 9 },
      field: { type: 'array', items: { $ref: '#/properties/first' } },
    },
  }),
  json(
    'a common base',
    { allOf: [{ $ref: '#/$defs/p' }, { properties: { age: { type: 'number', maximum: 99 } } }] },
    { name: 'x' },
    { $defs: { p: person } },
  ),
  json(
    'oneOf that overlap',
    {
      oneOf: [
        { type: 'number', multipleOf: 3 },
        { type: 'number', multipleOf: 5 },
      ],
    },
    9,
  ),
  json('not', { type: 'string', not: { const: 'forbidden' } }, 'x'),
  json(
    'a condition',
    { ...person, if: { properties: { name: { const: 'x' } } }, else: { required: ['name'] } },
    { name: 'y' },
  ),
  json('patterns of names', { type: 'object', patternProperties: { '^x-': { type: 'string' } } }, { 'x-a': 'x' }),
  json(
    'names of properties',
    { type: 'object', propertyNames: { maxLength: 5 }, additionalProperties: { type: 'number' } },
    { ab: 1 },
  ),
  json('a number of properties', { type: 'object', minProperties: 1, additionalProperties: true }, { a: 1 }),
  json('what a list contains', { type: 'array', items: { type: 'string' }, contains: { const: 'must' } }, ['must']),
  json('unique items', { type: 'array', items: { type: 'string' }, uniqueItems: true }, ['x']),
  json('an enum of objects', { enum: [{ x: 1 }, { x: 2 }] }, { x: 1 }),
  json('nullable of OpenAPI', { type: 'string', nullable: true }, null),
  json('an unknown format', { type: 'string', format: 'iban' }, 'x'),
  json('examples', { type: 'string', examples: ['Bergen'] }, 'x'),
  json('a forbidden property', { type: 'object', properties: { x: { type: 'string' }, y: false } }, { x: 'x' }),
  json(
    'names with spaces',
    { type: 'object', properties: { 'first name': { type: 'string', maxLength: 9 } } },
    { 'first name': 'x' },
  ),
  json(
    'a tuple of draft-07',
    { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
    ['x', 1],
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
    },
  ),
  ['no root type', { properties: { x: { type: 'string', maxLength: 9 } } }, { x: 'x' }],
  ['nothing', {}, {}],
  ['an object at the root', { type: 'object' }, {}],
  ['a union at the root', { anyOf: [a, b] }, { kind: 'a', a: 1 }],
  [
    'a union at the root beside properties',
    { type: 'object', properties: { id: { type: 'string' } }, oneOf: [a, b] },
    { id: 'x', kind: 'b', b: 'y' },
  ],
  [
    'one of two required properties',
    { ...person, required: [], anyOf: [{ required: ['name'] }, { required: ['id'] }] },
    { name: 'x' },
  ],
  ['a reference at the root', { $ref: '#/$defs/p', $defs: { p: person } }, { name: 'x' }],
  [
    'an intersection at the root',
    { allOf: [person, { properties: { age: { type: 'number', minimum: 18 } } }] },
    { name: 'x' },
  ],
  [
    'a recursion to the root',
    { ...person, properties: { name: { type: 'string' }, boss: { $ref: '#' } } },
    { name: 'x' },
  ],
  ['a map at the root', { type: 'object', additionalProperties: { type: 'number' } }, { x: 1 }],
  [
    'definitions that grow exponentially',
    {
      type: 'object',
      properties: { field: { $ref: '#/$defs/d0' } },
      $defs: Object.fromEntries(
        Array.from({ length: 30 }, (_, i) => {
          const next = i === 29 ? { type: 'string' } : { $ref: `#/$defs/d${i + 1}` };
          return [`d${i}`, { type: 'object', properties: { l: next, r: next } }];
        }),
      ),
    },
    {},
  ],
];
