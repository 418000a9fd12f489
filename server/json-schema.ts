import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options } from 'ajv';
import { InvalidSchemaError, type SchemaIssue } from './errors.js';
import { formatPathSegment } from './format-path.js';

/** A JSON Schema object: draft 2020-12, or draft-07 where its `$schema` says so. `format` is an annotation. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What is wrong with a value, at most the first 100 issues; empty where it fits. */
export type JsonSchemaCheck = (value: unknown) => readonly SchemaIssue[];

/** A hostile value of some megabytes has millions of issues, and to write them all out would take seconds. */
export const maxIssues = 100;

/**
 * Compiles a schema once.
 *
 * @param subject what the schema describes, for the error message
 * @param root how issue paths begin, such as `payload`
 * @throws {InvalidSchemaError}
 */
export function compileJsonSchema(schema: JsonSchema, subject: string, root: string): JsonSchemaCheck {
  if (schema['$async'] === true) throw new InvalidSchemaError(subject, new Error('$async schemas are not supported'));
  try {
    const ajv = ajvFor(schema);
    const validate = ajv.compile(schema);
    // The validator lives on by itself; ajv would keep every schema, and refuse a second one of the same $id.
    ajv.removeSchema(schema);
    return (value) => {
      if (validate(value)) return [];
      return (validate.errors ?? []).slice(0, maxIssues).map((error) => toIssue(error, root));
    };
  } catch (cause) {
    throw new InvalidSchemaError(subject, cause);
  }
}

// Loaded when the first JSON Schema is compiled: whoever uses none does not pay for ajv at import.
const require = createRequire(import.meta.url);

const options: Options = {
  allErrors: true,
  logger: false,
  validateFormats: false,
  // An unknown keyword is an annotation: OpenAPI and tool schemas are full of them.
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
    // The shape that ajv's own types give these two modules.
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
