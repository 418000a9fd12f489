import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidOptionError } from '../../errors.js';
import { resolveSchema, type SchemaResult } from '../../hub/events/payloads/schema.js';
import type { JsonSchema } from '../../json-schema/json-schema.js';
import type { ResponseFormat } from '../model/model-provider.js';
import { parseAnswer } from './parse-answer.js';
import { toSendableSchema } from './sendable-schema.js';

/** Schema of an agent's answers, prepared for the model and for validation. */
export interface OutputSchema {
  readonly responseFormat: ResponseFormat;
  /** Parses and validates an answer. */
  read(text: string): SchemaResult | Promise<SchemaResult>;
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
  return {
    responseFormat: { type: 'json', schema: sent },
    read(text) {
      const parsed = parseAnswer(text);
      if (parsed.issues !== undefined) return parsed;
      if (!isWrapped) return schema.validate(parsed.value);
      const { value } = parsed;
      // A model without a JSON mode may omit the wrapper, which only vendors need.
      const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, 'value');
      return schema.validate(isObject ? Reflect.get(value, 'value') : value);
    },
  };
}
