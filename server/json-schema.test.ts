import { describe, expect, it } from 'vitest';
import { InvalidSchemaError } from './errors.js';
import { compileJsonSchema } from './json-schema.js';

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

  it('returns at most 100 issues', () => {
    const issues = check({ id: 'x', items: Array.from({ length: 100_000 }, () => 1) });
    expect(issues).toHaveLength(100);
    expect(issues[99]).toEqual({ path: 'payload.items[99]', message: 'must be object' });
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
});
