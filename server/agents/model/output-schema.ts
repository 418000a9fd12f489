import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError } from '../../errors.js';
import { resolveSchema, type SchemaResult } from '../../hub/events/payload-schema.js';
import type { JsonSchema } from '../../json-schema.js';
import { OutputSchemaError, TruncatedOutputError } from '../errors.js';
import { readAnswerJson } from './answer-json.js';
import { recordOf, wellFormed } from './foreign-values.js';
import { describeFormat, type FinishReason, type ResponseFormat } from './model-provider.js';
import { PartialJson } from './partial-json.js';
import { mapSubschemas, moveRoot } from './subschemas.js';

/** Schema of an agent's answers, prepared for the model and for validation. */
export interface OutputSchema {
  readonly responseFormat: ResponseFormat;
  /** Returns the first JSON value in an answer that matches the schema, else the issues of the most likely one. */
  read(text: string): Promise<SchemaResult>;
  /** Vendors receive the schema of an object with the value as its property `value`. */
  readonly isWrapped: boolean;
}

/**
 * Prepares the `outputSchema` of an agent.
 *
 * @param outputJsonSchema its JSON Schema, if its library cannot convert it
 * @throws {InvalidOptionError | InvalidSchemaError}
 */
export function resolveOutputSchema(
  outputSchema: StandardSchemaV1 | JsonSchema,
  outputJsonSchema: JsonSchema | undefined,
  owner: string,
): OutputSchema {
  const schema = resolveSchema(outputSchema, owner, 'answer');
  const json = outputJsonSchema ?? schema.jsonSchema;
  if (json === undefined) {
    const expected = 'the JSON Schema of outputSchema, which cannot be converted';
    throw new InvalidOptionError(`outputJsonSchema of ${owner}`, expected, json);
  }
  const { sent, isWrapped } = toSendableSchema(json);
  const unwrap = (value: unknown): unknown => (isWrapped ? unwrapValue(value) : value);
  return {
    responseFormat: { type: 'json', schema: wellFormed(sent) },
    isWrapped,
    async read(text) {
      let first: SchemaResult | undefined;
      for (const value of readAnswerJson(text)) {
        const result = await schema.validate(unwrap(value));
        if (result.issues === undefined) return result;
        first ??= result;
      }
      return first ?? { issues: [{ path: 'answer', message: 'is not JSON' }] };
    },
  };
}

/** Returns a value without its wrapper, which only vendors need. A model without a JSON mode may omit it. */
export function unwrapValue(value: unknown): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, 'value');
  return isObject ? Reflect.get(value, 'value') : value;
}

const maxListedIssues = 10;

/** Returns a system prompt that describes the format of the answer, for a model without a JSON mode. */
export function withFormat(systemPrompt: string, { responseFormat }: OutputSchema): string {
  const format = describeFormat(responseFormat);
  return systemPrompt === '' ? format : `${systemPrompt}\n\n${format}`;
}

/** Problem of an answer: a note that asks the model to correct it, or the error that ends the run. */
export type AnswerProblem = { readonly note: string } | { readonly error: Error };

/** Typed answer of one run. Counts the corrections. */
export class TypedOutput {
  readonly #schema: OutputSchema;
  readonly #agentName: string;
  readonly #maxTokens: number | undefined;
  #retriesLeft: number;
  #data: unknown;
  #partial: { readonly turn: number; readonly reader: PartialJson } | undefined;

  constructor(schema: OutputSchema, agentName: string, retries: number, maxTokens: number | undefined) {
    this.#schema = schema;
    this.#agentName = agentName;
    this.#maxTokens = maxTokens;
    this.#retriesLeft = retries;
  }

  /** Validated value of the last answer; `undefined` if that was not valid. */
  get data(): unknown {
    return this.#data;
  }

  /** Reads a part of the answer of a turn. Returns its value so far, not validated; `undefined` if there is nothing new. */
  partial(turn: number, text: string): unknown {
    if (this.#partial?.turn !== turn) this.#partial = { turn, reader: new PartialJson() };
    const value = this.#partial.reader.add(text);
    return this.#schema.isWrapped ? unwrapValue(value) : value;
  }

  /** Reads an answer that an earlier attempt stored. @throws {OutputSchemaError} if another schema accepted it */
  async readAgain(text: string): Promise<void> {
    this.#retriesLeft = 0;
    const problem = await this.read(text, 'stop');
    if (problem !== undefined && 'error' in problem) throw problem.error;
  }

  /** Reads the answer of a turn. Returns its problem, or `undefined` if it is valid. */
  async read(text: string, finishReason: FinishReason): Promise<AnswerProblem | undefined> {
    this.#data = undefined;
    if (finishReason === 'length') {
      return { error: new TruncatedOutputError(this.#agentName, 'end of JSON', this.#maxTokens) };
    }
    const { issues, ...valid } = await this.#schema.read(text);
    if (issues === undefined) {
      this.#data = 'value' in valid ? valid.value : undefined;
      return undefined;
    }
    if (this.#retriesLeft === 0) return { error: new OutputSchemaError(this.#agentName, issues) };
    this.#retriesLeft--;
    const listed = issues.slice(0, maxListedIssues).map(({ path, message }) => `${path}: ${message}`);
    return {
      note: `Your answer does not match the required JSON Schema: ${listed.join('; ')}. Answer again, with the complete JSON only.`,
    };
  }
}

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
  if (schema['type'] === 'object' && !combinators.some((keyword) => keyword in schema)) {
    return { sent: closed, isWrapped: false };
  }
  const { $defs, ...value } = moveRoot(closed, '#/$defs/value');
  const sent = {
    type: 'object',
    properties: { value: { $ref: '#/$defs/value' } },
    required: ['value'],
    additionalProperties: false,
    $defs: { ...recordOf($defs), value },
  };
  return { sent, isWrapped: true };
}

/** Keywords that vendors accept inside a schema, and not at its root. */
const combinators: readonly string[] = ['anyOf', 'oneOf', 'allOf', '$ref', 'not', 'if', 'enum', 'const'];

/** Keywords whose schemas describe a part of the same object, or no value of the answer. */
const partial: readonly string[] = [
  ...['allOf', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'dependentSchemas'],
];

/** Adds `additionalProperties: false` to objects that do not say which further properties they take. */
function close(schema: JsonSchema): JsonSchema {
  const hasProperties = 'properties' in schema;
  const isOnePart = ['allOf', 'anyOf', 'oneOf', 'if'].some((keyword) => keyword in schema);
  const closed = mapSubschemas(schema, (inner, keyword) => {
    const isPart = partial.includes(keyword) || (hasProperties && ['anyOf', 'oneOf'].includes(keyword));
    return isPart ? inner : close(inner);
  });
  const isOpen = hasProperties && !('additionalProperties' in schema) && !isOnePart;
  return isOpen ? { ...closed, additionalProperties: false } : closed;
}
