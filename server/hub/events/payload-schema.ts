import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError, InvalidSchemaError, quote, type SchemaIssue } from '../../errors.js';
import { compileJsonSchema, type JsonSchema, maxIssues, turnToCheck } from '../../json-schema.js';
import { formatPathSegment, publicPath } from '../../redaction.js';
import { PayloadNotJsonError, SchemaValidationError } from '../errors.js';
import { encodePayload, findConversions } from './payload.js';

export type { JsonSchema } from '../../json-schema.js';

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

/** Returns the error of a stored payload that its schema rejects; `undefined` if the schema accepts it. */
export function rejectionOf(
  type: string,
  schema: PayloadSchema,
  { issues }: SchemaResult,
): SchemaValidationError | undefined {
  return issues && new SchemaValidationError(type, issues, schema.publicPaths(issues));
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

/**
 * Returns the paths of issues with `*` for every key that the schema does not declare: the keys of a record are data of
 * the payload.
 */
function publicPaths(issues: readonly SchemaIssue[], schema: JsonSchema | undefined): readonly string[] {
  const names = schema && declaredNames(schema);
  return issues.map(({ path }) => publicPath(path, names && ((key) => names.has(key))));
}

/** Returns the names in all `properties` of a schema. */
function declaredNames(schema: JsonSchema): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    for (const [keyword, value] of Object.entries(part)) {
      if (keyword === 'properties') for (const name of Object.keys(Object(value))) names.add(name);
      visit(value);
    }
  };
  visit(schema);
  return names;
}

/** Payload of an event, before it is stored. */
export interface EmittedPayload {
  /** Event type, or name of the workflow. */
  readonly type: string;
  readonly payload: unknown;
  /** The payload as JSON. */
  readonly body: string;
}

/**
 * Returns the payload that transports store, as JSON: the output of the schema, so that its defaults and transforms
 * run once and every attempt receives the same value. Synchronous unless the schema is asynchronous.
 *
 * @throws {SchemaValidationError} if the schema rejects the payload
 * @throws {InvalidSchemaError} if the output is not JSON, or if the schema rejects it: attempts could not validate it
 * @throws {PayloadTooLargeError}
 */
export function toStoredBody(
  emitted: EmittedPayload,
  schema: PayloadSchema,
  maxPayloadBytes: number,
): string | Promise<string> {
  const { type, payload, body } = emitted;
  return after(schema.validate(JSON.parse(body)), (result) => {
    if (result.issues !== undefined) {
      const paths = schema.publicPaths(result.issues);
      throw new SchemaValidationError(type, explainIssues(result.issues, payload), paths);
    }
    const stored = encodeOutput(result.value, type, maxPayloadBytes);
    // A schema that accepted a value and returned it unchanged accepts it again.
    if (stored === body) return body;
    return after(schema.validate(JSON.parse(stored)), ({ issues: [issue] = [] }) => {
      if (issue === undefined) return stored;
      throw new InvalidSchemaError(
        `event ${quote(type)}`,
        new Error(
          `it rejects its own output, which every attempt validates: ${issue.path} ${issue.message}; accept the output as well as the input`,
        ),
      );
    });
  });
}

/**
 * Returns the result of a workflow that transports store, as JSON: the output of its schema.
 *
 * @throws {SchemaValidationError} if the schema rejects the result
 * @throws {PayloadNotJsonError | PayloadTooLargeError} if the schema's output cannot be stored
 */
export function toStoredResult(
  workflow: string,
  json: string,
  schema: PayloadSchema,
  maxPayloadBytes: number,
): string | Promise<string> {
  return after(schema.validate(JSON.parse(json)), (result) => {
    const { issues } = result;
    if (issues !== undefined) throw new SchemaValidationError(workflow, issues, schema.publicPaths(issues), 'result');
    return encodePayload(result.value, workflow, maxPayloadBytes, 'its output', true);
  });
}

function after<T>(
  result: SchemaResult | Promise<SchemaResult>,
  next: (result: SchemaResult) => T,
): T | Promise<Awaited<T>>;
function after<T>(result: SchemaResult | Promise<SchemaResult>, next: (result: SchemaResult) => T): unknown {
  return result instanceof Promise ? result.then(next) : next(result);
}

function encodeOutput(output: unknown, type: string, maxPayloadBytes: number): string {
  try {
    return encodePayload(output, type, maxPayloadBytes, 'its output', true);
  } catch (error) {
    if (!(error instanceof PayloadNotJsonError)) throw error;
    throw new InvalidSchemaError(`event ${quote(type)}`, error);
  }
}

/** Names the cause of issues that `emit` itself made: the schema sees the payload after JSON. */
function explainIssues(issues: readonly SchemaIssue[], payload: unknown): readonly SchemaIssue[] {
  const conversions = findConversions(payload, 'payload');
  return issues.map(({ path, message }) => {
    const converted = conversions.get(path);
    if (converted === undefined) return { path, message };
    const cause = `${converted} was emitted, and payloads are JSON, where it is a different value`;
    return { path, message: `${message} (${cause}: let the schema expect that value)` };
  });
}
