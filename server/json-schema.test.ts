import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { InvalidSchemaError, type SchemaIssue } from './errors.js';
import { compileJsonSchema, type JsonSchema } from './json-schema.js';
import { cpuMsSince } from './testing/cpu-time.fixture.js';

describe('compileJsonSchema', () => {
  const order = {
    type: 'object',
    required: ['id'],
    additionalProperties: false,
    properties: {
      id: { type: 'string' },
      state: { enum: ['new', 'paid'] },
      'a/b~c': { const: 1 },
      items: { type: 'array', items: { type: 'object', properties: { price: { type: 'number' } } } },
      mail: { type: 'string', format: 'email' },
    },
  };
  const check = compileJsonSchema(order, 'event "a"', 'payload');

  it.each([
    [{ id: 'x' }, []],
    [{ id: 'x', mail: 'a format is not validated' }, []],
    [{}, [{ path: 'payload', message: "must have required property 'id'" }]],
    [{ id: 1 }, [{ path: 'payload.id', message: 'must be string' }]],
    [{ id: 'x', state: 'old' }, [{ path: 'payload.state', message: 'must be one of ["new","paid"]' }]],
    [{ id: 'x', 'a/b~c': 2 }, [{ path: 'payload["a/b~c"]', message: 'must be 1' }]],
    [{ id: 'x', extra: 1 }, [{ path: 'payload', message: 'must not have the property "extra"' }]],
    [{ id: 'x', items: [{}, { price: '1' }] }, [{ path: 'payload.items[1].price', message: 'must be number' }]],
    [null, [{ path: 'payload', message: 'must be object' }]],
  ])('finds in %j: %j', (value, issues) => {
    expect(check(value)).toEqual(issues);
  });

  it('returns at most 100 issues, and only the first one of a value with very many parts', () => {
    const withItems = (count: number): object => ({ id: 'x', items: Array.from({ length: count }, () => 1) });
    const issues = check(withItems(1_000));
    expect(issues).toHaveLength(100);
    expect(issues[99]).toEqual({ path: 'payload.items[99]', message: 'must be object' });
    expect(check(withItems(100_000))).toEqual([{ path: 'payload.items[0]', message: 'must be object' }]);
  });

  it('uses draft 2020-12 by default, and draft-07 if $schema says so', () => {
    const pair = compileJsonSchema({ prefixItems: [{ type: 'number' }] }, 'x', 'value');
    expect(pair(['1'])).toHaveLength(1);
    const $schema = 'http://json-schema.org/draft-07/schema#';
    const old = compileJsonSchema({ $schema, items: [{ type: 'number' }], additionalItems: false }, 'x', 'value');
    expect(old(['1'])).toHaveLength(1);
    expect(old([1])).toEqual([]);
  });

  it('resolves recursive references and ignores unknown keywords', () => {
    const tree = {
      type: 'object',
      properties: { child: { $ref: '#' } },
      required: ['name'],
      example: {},
      'x-order': 1,
    };
    for (const schema of [tree, { ...tree, $id: 'https://example.com/tree' }]) {
      const treeCheck = compileJsonSchema(schema, 'x', 'payload');
      expect(treeCheck({ name: 'a', child: { name: 'b' } })).toEqual([]);
      expect(treeCheck({ name: 'a', child: {} })).toMatchObject([{ path: 'payload.child' }]);
    }
  });

  it('compiles two schemas with the same $id', () => {
    expect(compileJsonSchema({ $id: 'https://example.com/x', type: 'number' }, 'x', 'value')(1)).toEqual([]);
    expect(compileJsonSchema({ $id: 'https://example.com/x', type: 'string' }, 'x', 'value')('1')).toEqual([]);
  });

  it.each([{ type: 'objekt' }, { $ref: '#/nowhere' }, { $async: true, type: 'string' }])(
    'rejects the schema %j',
    (schema) => {
      expect(() => compileJsonSchema(schema, 'event "a"', 'payload')).toThrow(InvalidSchemaError);
      expect(() => compileJsonSchema(schema, 'event "a"', 'payload')).toThrow('schema of event "a" is not valid');
    },
  );

  it('compiles a schema after one with the same $id failed to compile', () => {
    const $id = 'https://example.com/y';
    expect(() => compileJsonSchema({ $id, $ref: '#/nowhere' }, 'x', 'value')).toThrow(InvalidSchemaError);
    expect(compileJsonSchema({ $id, type: 'number' }, 'x', 'value')(1)).toEqual([]);
  });

  it('retains no memory of schemas that are no longer used', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const heapAfter = (count: number): number => {
      for (let index = 0; index < count; index += 1)
        compileJsonSchema({ ...order, title: `${index}` }, 'x', 'value')({});
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = heapAfter(50);
    expect((heapAfter(300) - before) / 300).toBeLessThan(5_000);
  });

  it.each([
    ['null', null],
    ['integer', 2],
    [['string', 'null'], null],
  ])('accepts the type %j', (type, value) => {
    const typed = compileJsonSchema({ type }, 'x', 'value');
    expect(typed(value)).toEqual([]);
    expect(typed(2.5)).toEqual([{ path: 'value', message: `must be ${[type].flat().join(',')}` }]);
  });

  it('accepts null for a nullable type of OpenAPI', () => {
    const nullable = compileJsonSchema({ type: 'string', nullable: true }, 'x', 'value');
    expect(nullable(null)).toEqual([]);
    expect(nullable(1)).toEqual([{ path: 'value', message: 'must be string,null' }]);
  });

  it('compares the items of uniqueItems by value', () => {
    const unique = compileJsonSchema({ uniqueItems: true }, 'x', 'value');
    expect(unique([1, '1', null, 'null', [1], { a: 1, b: [2] }, { a: 1, b: [3] }, true])).toEqual([]);
    for (const pair of [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [[[]], [[]]],
      [0, -0],
    ]) {
      expect(unique(pair)).toEqual([{ path: 'value', message: 'must not have duplicate items' }]);
    }
    expect(compileJsonSchema({ uniqueItems: false }, 'x', 'value')([1, 1])).toEqual([]);
  });
});

describe('a hostile value', () => {
  // Each took seconds to hours, or the memory of the process. The bound is far above the time it takes on a busy machine.
  const maxMs = 3_000;

  function issuesInTime(schema: JsonSchema, value: unknown): readonly SchemaIssue[] {
    const check = compileJsonSchema(schema, 'x', 'payload');
    const before = process.cpuUsage();
    const issues = check(value);
    expect(cpuMsSince(before)).toBeLessThan(maxMs);
    return issues;
  }

  const branch = (kind: number): object => ({
    type: 'object',
    required: ['kind', 'id', 'name'],
    properties: { kind: { const: kind }, id: { type: 'string' }, name: { type: 'string' } },
  });

  it('is refused early by many alternatives', () => {
    const items = Array.from({ length: 250_000 }, () => 0);
    const anyOf = Array.from({ length: 24 }, (_, kind) => branch(kind));
    expect(issuesInTime({ type: 'array', items: { anyOf } }, items)[0]?.path).toMatch(/^payload\[0\]/);
    expect(issuesInTime({ type: 'array', contains: { anyOf } }, items)[0]?.message).toMatch(/more than 300000 steps/);
  });

  it('is refused for more steps than the limit if a schema is recursive in several alternatives', () => {
    // Only the innermost object matches neither alternative.
    const child = { type: 'object', properties: { child: { $ref: '#' } } };
    const schema = { anyOf: [child, { ...child, minProperties: 0 }, { ...child, maxProperties: 9 }] };
    let value: object = { child: 1 };
    for (let depth = 0; depth < 60; depth += 1) value = { child: value };
    expect(issuesInTime(schema, value)).toEqual([
      { path: 'payload', message: 'needs more than 300000 steps to be checked; send less at once' },
    ]);
  });

  it.each(['{"valueOf":1}', '{"toString":1}'])('%s is refused by an enum of objects', (json) => {
    expect(issuesInTime({ enum: [{ a: 1 }] }, JSON.parse(json))).toHaveLength(1);
  });

  it('is refused if it is deeper than the stack', () => {
    let value: unknown[] = [];
    for (let depth = 0; depth < 100_000; depth += 1) value = [value];
    expect(issuesInTime({ items: { $ref: '#' } }, value)[0]?.message).toMatch(/steps to be checked/);
  });

  it('is compared item by item for uniqueItems in linear time', () => {
    const items = Array.from({ length: 60_000 }, (_, index) => ({ a: index }));
    expect(issuesInTime({ uniqueItems: true }, items)).toEqual([]);
    expect(issuesInTime({ uniqueItems: true }, [...items, { a: 0 }])).toHaveLength(1);
    const deep = Array.from({ length: 300 }, (_, index) => [index]).reduce<unknown[]>((list, item) => [list, item], []);
    const nested: JsonSchema = { uniqueItems: true, items: { $ref: '#' } };
    expect(issuesInTime(nested, deep)).toEqual([]);
  });

  it('is charged for long strings and for objects with many properties', () => {
    const text = 'x'.repeat(500_000);
    const anyOf = Array.from({ length: 100 }, (_, length) => ({ minLength: 600_000 + length }));
    expect(issuesInTime({ anyOf }, text)[0]?.message).toMatch(/steps/);
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1]));
    const narrow = { additionalProperties: { type: 'string' } };
    expect(issuesInTime({ anyOf: Array.from({ length: 100 }, () => narrow) }, wide)[0]?.message).toMatch(/steps/);
  });
});
