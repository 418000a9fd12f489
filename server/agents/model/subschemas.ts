import type { JsonSchema } from '../../json-schema.js';
import { isRecord, recordOf } from './foreign-values.js';

/** Keywords with a schema, with a list of schemas, and with schemas by name. */
const single: readonly string[] = [
  ...['items', 'additionalItems', 'additionalProperties', 'unevaluatedItems', 'unevaluatedProperties'],
  ...['propertyNames', 'contains', 'not', 'if', 'then', 'else'],
];
const lists: readonly string[] = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'];
const maps: readonly string[] = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/** Applies a function to the schemas inside a schema, except those that are `true` or `false`. */
export function mapSubschemas(schema: JsonSchema, map: (inner: JsonSchema, keyword: string) => JsonSchema): JsonSchema {
  const mapped: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const apply = (inner: unknown): unknown => (isRecord(inner) ? map(inner, keyword) : inner);
    if (lists.includes(keyword) && Array.isArray(value)) mapped[keyword] = value.map(apply);
    else if (maps.includes(keyword)) {
      mapped[keyword] = Object.fromEntries(
        Object.entries(recordOf(value)).map(([name, inner]) => [name, apply(inner)]),
      );
    } else mapped[keyword] = single.includes(keyword) ? apply(value) : value;
  }
  return mapped;
}

/** Returns the schema that a `$ref` such as `#/$defs/node` refers to, or `undefined`. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const segment of reference.split('/').slice(1)) {
    const name = decodePointer(segment);
    if (typeof found !== 'object' || found === null || name === undefined || !Object.hasOwn(found, name)) {
      return undefined;
    }
    found = Reflect.get(found, name);
  }
  return found;
}

function decodePointer(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}

/** Redirects references to the root, and into it, to the place to which the root moves. Its `$defs` stay. */
export function moveRoot(schema: JsonSchema, to: string): JsonSchema {
  const moved = mapSubschemas(schema, (inner) => moveRoot(inner, to));
  const { $ref } = schema;
  const isInside = typeof $ref === 'string' && /^#(\/(?!\$defs\/)|$)/.test($ref);
  return isInside ? { ...moved, $ref: to + $ref.slice(1) } : moved;
}
