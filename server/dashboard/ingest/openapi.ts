import { UnknownEventError } from '../../hub/errors.js';
import type { EventRef } from '../../hub/events/emit.js';
import { definitionConfig, type EventDefinitionConfig } from '../../hub/events/event.js';
import { type JsonSchema, resolveSchema } from '../../hub/events/payload-schema.js';
import type { Hub } from '../../hub/hub.js';

/** Document of the OpenAPI specification 3.1. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, object>>;
  readonly components: Readonly<Record<'schemas' | 'responses' | 'parameters', Readonly<Record<string, object>>>>;
}

/** Event type in the document. */
interface DescribedType {
  readonly type: string;
  /** Name of its schema in the document. */
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonSchema;
}

/**
 * Returns the OpenAPI document of an ingest handler: a path per event type, with the JSON Schema of its payload, and one
 * for several events.
 *
 * @param mount path of the handler
 */
export async function describeTypes(
  hub: Hub,
  targets: Iterable<EventRef<never, unknown> | string>,
  mount: string,
): Promise<OpenApiDocument> {
  const described = await Promise.all([...targets].map((target) => describeType(hub, target)));
  const names = schemaNames(described.map(({ type }) => type));
  const types = described.map((each, index): DescribedType => ({ ...each, name: names[index] ?? each.type }));
  return {
    openapi: '3.1.0',
    info: { title: `Events of ${hub.service}`, version: '1' },
    servers: [{ url: mount }],
    paths: {
      '/': { post: operationOfMany(types) },
      ...Object.fromEntries(types.map((each) => [`/${encodeURIComponent(each.type)}`, { post: operationOf(each) }])),
    },
    components: {
      schemas: {
        ...Object.fromEntries(types.map(({ name, schema }) => [name, relocated(schema, refTo(name))])),
        ...sharedSchemas,
      },
      responses: sharedResponses,
      parameters: { IdempotencyKey: idempotencyKey },
    },
  };
}

const schemaPath = '#/components/schemas/';

function refTo(name: string): string {
  return `${schemaPath}${name}`;
}

async function describeType(hub: Hub, target: EventRef<never, unknown> | string): Promise<Omit<DescribedType, 'name'>> {
  const type = typeof target === 'string' ? target : target.type;
  const config = definitionConfig(target);
  // A name that nobody has registered yet has no schema.
  const known: { readonly description?: string; readonly schema?: JsonSchema } =
    config === undefined ? await describeRegistered(hub, type) : describeDefinition(config);
  const { description, schema = {} } = known;
  return { type, schema, ...(description !== undefined && { description }) };
}

/** Returns the names of types in the document, each once: a type's own one if it can be the name of a schema. */
function schemaNames(types: readonly string[]): readonly string[] {
  const taken = new Set(types);
  return types.map((type, index) => {
    if (/^[\w.-]{1,100}$/.test(type) && !(type in sharedSchemas) && type !== manyId) return type;
    let name = `type-${index + 1}`;
    while (taken.has(name)) name += '_';
    return name;
  });
}

async function describeRegistered(hub: Hub, type: string): Promise<Partial<DescribedType>> {
  try {
    return await hub.describe(type);
  } catch (error) {
    if (UnknownEventError.is(error)) return {};
    throw error;
  }
}

function describeDefinition({ type, description, schema }: EventDefinitionConfig): Partial<DescribedType> {
  const jsonSchema = schema === undefined ? undefined : resolveSchema(schema, type).jsonSchema;
  return { ...(description !== undefined && { description }), ...(jsonSchema !== undefined && { schema: jsonSchema }) };
}

const manyId = 'emitMany';

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A second event of the type with the same key is not accepted. Of a list, each event has a key of its own.',
  schema: { type: 'string', minLength: 1, maxLength: 256 },
};

const error = {
  type: 'object',
  required: ['code', 'message'],
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    issues: {
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
  },
};

const sharedSchemas = {
  AcceptedEvent: {
    type: 'object',
    required: ['id', 'deduplicated'],
    properties: { id: { type: 'string' }, deduplicated: { type: 'boolean' } },
  },
  RefusedEvent: { type: 'object', required: ['error'], properties: { error } },
  EventResults: {
    type: 'object',
    required: ['accepted', 'events'],
    properties: {
      accepted: { type: 'integer' },
      events: { type: 'array', items: { anyOf: [{ $ref: refTo('AcceptedEvent') }, { $ref: refTo('RefusedEvent') }] } },
    },
  },
};

const jsonOf = (schema: object): object => ({ 'application/json': { schema } });

const sharedResponses = {
  Accepted: { description: 'Accepted, or deduplicated.', content: jsonOf({ $ref: refTo('AcceptedEvent') }) },
  Results: {
    description: 'Results of the events, in the same order.',
    content: jsonOf({ $ref: refTo('EventResults') }),
  },
  Refused: {
    description: 'Not accepted: error.code and error.message tell why.',
    content: jsonOf({ $ref: refTo('RefusedEvent') }),
  },
};

const refused = { $ref: '#/components/responses/Refused' };
const keyParameter = { $ref: '#/components/parameters/IdempotencyKey' };

function operationOf({ type, name, description }: DescribedType): object {
  return {
    operationId: name,
    summary: description ?? `Emits ${type}.`,
    parameters: [keyParameter],
    requestBody: { required: true, content: jsonOf({ $ref: refTo(name) }) },
    responses: { 202: { $ref: '#/components/responses/Accepted' }, default: refused },
  };
}

function operationOfMany(types: readonly DescribedType[]): object {
  const events = types.map(({ type, name }) => ({
    type: 'object',
    required: ['type', 'payload'],
    additionalProperties: false,
    properties: {
      type: { const: type },
      payload: { $ref: refTo(name) },
      id: { type: 'string', minLength: 1, maxLength: 512, description: 'Idempotency key of this event.' },
      requestId: { type: 'string', minLength: 1, maxLength: 512 },
      delayMs: { type: 'number', minimum: 0 },
      priority: { type: 'integer', minimum: -100, maximum: 100 },
    },
  }));
  const event = { oneOf: events };
  const results = { $ref: '#/components/responses/Results' };
  return {
    operationId: manyId,
    summary: 'Emits an event, or up to 1,000.',
    parameters: [keyParameter],
    requestBody: {
      required: true,
      content: jsonOf({ anyOf: [event, { type: 'array', minItems: 1, maxItems: 1_000, items: event }] }),
    },
    responses: { 202: results, 207: results, default: refused },
  };
}

/** Values of these keywords are data. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

/** Returns a schema whose references to its own root begin at its place in the document. */
function relocated(schema: JsonSchema, place: string): JsonSchema {
  // A schema with an id is the root of its own references.
  if (typeof schema['$id'] === 'string') return schema;
  const copies = new Map<object, unknown>();
  const copy = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    const result: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {};
    copies.set(value, result);
    if (Array.isArray(result)) {
      for (const item of value as unknown[]) result.push(copy(item));
      return result;
    }
    for (const [keyword, part] of Object.entries(value)) {
      const isRef = keyword === '$ref' && typeof part === 'string' && part.startsWith('#');
      result[keyword] = isRef ? place + part.slice(1) : dataKeywords.has(keyword) ? part : copy(part);
    }
    return result;
  };
  return copy(schema) as JsonSchema; // a copy of an object is an object
}
