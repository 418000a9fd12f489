import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options } from 'ajv';
import { InvalidSchemaError, type SchemaIssue } from './errors.js';
import { formatPathSegment } from './format-path.js';

/** JSON Schema object: draft 2020-12, or draft-07 if its `$schema` says so. `format` is not validated. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Function that returns the issues of a value, at most {@link maxIssues}, or an empty array if it is valid. */
export type JsonSchemaCheck = (value: unknown) => readonly SchemaIssue[];

/**
 * Maximum number of issues per value: a hostile value of a few megabytes has millions, which take seconds to format.
 */
export const maxIssues = 100;

/**
 * Compiles a schema.
 *
 * @param subject subject of the error message, such as `event "paid"`
 * @param root first segment of issue paths, such as `payload`
 * @throws {InvalidSchemaError}
 */
export function compileJsonSchema(schema: JsonSchema, subject: string, root: string): JsonSchemaCheck {
  if (schema['$async'] === true) throw new InvalidSchemaError(subject, new Error('$async schemas are not supported'));
  try {
    const ajv = ajvFor(schema);
    const validate = ajv.compile(schema);
    // ajv would retain every schema and refuse a second one with the same $id. The validator works without it.
    ajv.removeSchema(schema);
    return (value) => {
      if (validate(value)) return [];
      return (validate.errors ?? []).slice(0, maxIssues).map((error) => toIssue(error, root));
    };
  } catch (cause) {
    throw new InvalidSchemaError(subject, cause);
  }
}

// Loaded when the first JSON Schema is compiled: programs without one do not pay for ajv at import.
const require = createRequire(import.meta.url);

const options: Options = {
  allErrors: true,
  logger: false,
  validateFormats: false,
  // OpenAPI and tool schemas have many unknown keywords, which are annotations.
  strictSchema: false,
  strictTypes: false,
  strictTuples: false,
};

const instances = new Map<string, Ajv>();

function ajvFor(schema: JsonSchema): Ajv {
  const isDraft7 = typeof schema['$schema'] === 'string' && /draft-07/.test(schema['$schema']);
  const module = isDraft7 ? 'ajv' : 'ajv/dist/2020';
  let ajv = instances.get(module);
  if (ajv === undefined) {
    // Matches the types that ajv declares for these two modules.
    const { default: Ajv } = require(module) as { default: new (options: Options) => Ajv };
    ajv = new Ajv(options);
    instances.set(module, ajv);
  }
  return ajv;
}

function toIssue(error: ErrorObject, root: string): SchemaIssue {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((parent, key) => `${parent}${formatPathSegment(key)}`, root);
  return { path, message: explain(error) };
}

function explain({ keyword, message = 'is not valid', params }: ErrorObject): string {
  if (keyword === 'enum') return `must be one of ${JSON.stringify(params['allowedValues'])}`;
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`;
  if (keyword === 'additionalProperties')
    return `must not have the property ${JSON.stringify(params['additionalProperty'])}`;
  return message;
}
