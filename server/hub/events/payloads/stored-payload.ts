import { InvalidSchemaError, quote, type SchemaIssue } from '../../../errors.js';
import { PayloadNotJsonError, SchemaValidationError } from '../../errors.js';
import { encodePayload, findConversions } from './payload.js';
import type { PayloadSchema, SchemaResult } from './schema.js';

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
