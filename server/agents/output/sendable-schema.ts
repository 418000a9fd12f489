import type { JsonSchema } from '../../json-schema/json-schema.js';

/** JSON Schema in the form that vendors accept. */
export interface SendableSchema {
  readonly sent: JsonSchema;
  /** `true` if the answer is an object whose `value` matches the schema. */
  readonly isWrapped: boolean;
}

/**
 * Returns a schema in the form that vendors accept: its root is an object, and objects name all their properties, which
 * the models then keep to.
 */
export function toSendableSchema({ $schema: _dialect, ...schema }: JsonSchema): SendableSchema {
  const closed = close(schema);
  if (schema['type'] === 'object') return { sent: closed, isWrapped: false };
  const { $defs, ...value } = redirectRoot(closed);
  const sent = {
    type: 'object',
    properties: { value: { $ref: '#/$defs/value' } },
    required: ['value'],
    additionalProperties: false,
    $defs: { ...asSchema($defs), value },
  };
  return { sent, isWrapped: true };
}

/** Lists of schemas, and objects of schemas by name. */
const lists: readonly string[] = ['anyOf', 'oneOf', 'prefixItems'];
const maps: readonly string[] = ['properties', '$defs', 'definitions', 'patternProperties'];

/** Adds `additionalProperties: false` to objects that do not say which further properties they take. */
function close(schema: JsonSchema): JsonSchema {
  const closed = mapSchemas(schema, close);
  const isOpen = 'properties' in schema && !('additionalProperties' in schema) && !('allOf' in schema);
  return isOpen ? { ...closed, additionalProperties: false } : closed;
}

/** Redirects references to the root, which moves below the wrapper. */
function redirectRoot(schema: JsonSchema): JsonSchema {
  const redirected = mapSchemas(schema, redirectRoot);
  return schema['$ref'] === '#' ? { ...redirected, $ref: '#/$defs/value' } : redirected;
}

/** Applies a function to the schemas inside a schema. Not to those of `allOf`, which describe the same object. */
function mapSchemas(schema: JsonSchema, map: (inner: JsonSchema) => JsonSchema): JsonSchema {
  const mapped: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (Array.isArray(value)) mapped[keyword] = lists.includes(keyword) ? value.map((each) => apply(each, map)) : value;
    else if (maps.includes(keyword)) {
      const entries = Object.entries(asSchema(value)).map(([name, each]) => [name, apply(each, map)]);
      mapped[keyword] = Object.fromEntries(entries);
    } else mapped[keyword] = keyword === 'items' || keyword === 'additionalProperties' ? apply(value, map) : value;
  }
  return mapped;
}

function apply(value: unknown, map: (inner: JsonSchema) => JsonSchema): unknown {
  return typeof value === 'object' && value !== null ? map(asSchema(value)) : value;
}

function asSchema(value: unknown): JsonSchema {
  // Every property of any object may be read as unknown.
  return typeof value === 'object' && value !== null ? (value as JsonSchema) : {};
}
