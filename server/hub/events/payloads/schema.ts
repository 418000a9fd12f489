import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError, type SchemaIssue } from '../../../errors.js';
import { turnToCheck } from '../../../json-schema/check-turns.js';
import { compileJsonSchema, type JsonSchema, maxIssues } from '../../../json-schema/json-schema.js';
import { formatPathSegment } from '../../../redaction/format-path.js';
import { publicPaths } from './public-paths.js';

export type { JsonSchema } from '../../../json-schema/json-schema.js';

/** Validated payload, or the issues of an invalid one. */
export type SchemaResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** Standard Schema or JSON Schema, prepared for validation. */
export interface PayloadSchema {
  /** Validates a payload, and returns the schema's output or the issues. */
  validate(payload: unknown): SchemaResult | Promise<SchemaResult>;
  /** Returns the paths of issues without keys that come from the payload. */
  publicPaths(issues: readonly SchemaIssue[]): readonly string[];
  /** Absent if the schema's library cannot convert it to JSON Schema. */
  readonly jsonSchema?: JsonSchema;
}

/**
 * Prepares a Standard Schema or a JSON Schema.
 *
 * @param root first segment of issue paths
 * @throws {InvalidOptionError | InvalidSchemaError}
 */
export function resolveSchema(
  schema: StandardSchemaV1 | JsonSchema,
  owner: string,
  root: string = 'payload',
): PayloadSchema {
  if (isStandardSchema(schema)) return fromStandardSchema(schema, root);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new InvalidOptionError(`schema of ${owner}`, 'a Standard Schema or a JSON Schema object', schema);
  }
  const check = compileJsonSchema(schema, owner, root);
  return {
    jsonSchema: schema,
    publicPaths: (issues) => publicPaths(issues, schema),
    validate: (value) => inTurn(() => toResult(value, check(value))),
  };
}

function toResult(value: unknown, issues: readonly SchemaIssue[]): SchemaResult {
  return issues.length === 0 ? { value } : { issues };
}

/** Runs a check, in a later turn of the event loop if other checks have used up this one. */
function inTurn(check: () => SchemaResult): SchemaResult | Promise<SchemaResult> {
  return turnToCheck()?.then(() => inTurn(check)) ?? check();
}

/** Returns `true` for a Standard Schema. */
export function isStandardSchema(schema: StandardSchemaV1 | JsonSchema): schema is StandardSchemaV1 {
  // The schemas of some libraries are functions.
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema;
}

function fromStandardSchema(schema: StandardSchemaV1, root: string): PayloadSchema {
  const standard = schema['~standard'];
  const toResult = (result: StandardSchemaV1.Result<unknown>): SchemaResult =>
    result.issues === undefined
      ? { value: result.value }
      : {
          issues: result.issues.slice(0, maxIssues).map(({ message, path }) => ({
            path: `${root}${(path ?? []).map(formatSegment).join('')}`,
            message,
          })),
        };
  const jsonSchema = toJsonSchema(standard);
  return {
    validate(payload) {
      const result = standard.validate(payload);
      return result instanceof Promise ? result.then(toResult) : toResult(result);
    },
    publicPaths: (issues) => publicPaths(issues, jsonSchema),
    ...(jsonSchema && { jsonSchema }),
  };
}

function formatSegment(segment: PropertyKey | StandardSchemaV1.PathSegment): string {
  return formatPathSegment(typeof segment === 'object' ? segment.key : segment);
}

/** @see https://standardschema.dev/json-schema */
function toJsonSchema(standard: object): JsonSchema | undefined {
  // Optional extension of the standard: present in zod 4.2+, arktype 2.1.28+ and others.
  const { jsonSchema } = standard as Partial<StandardJSONSchemaV1['~standard']>;
  try {
    return jsonSchema?.input({ target: 'draft-2020-12' });
  } catch {
    // JSON Schema cannot express this schema, so the dashboard shows none.
    return undefined;
  }
}
