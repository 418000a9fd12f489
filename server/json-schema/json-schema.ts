import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options } from 'ajv';
import { InvalidSchemaError, quote, type SchemaIssue } from '../errors.js';
import { formatPathSegment } from '../redaction/format-path.js';
import { countSteps } from './check-turns.js';
import { BudgetExceeded, instrument, SchemaBudget } from './schema-budget.js';
import { installUniqueItems } from './unique-items.js';

/** JSON Schema object: draft 2020-12, or draft-07 if its `$schema` says so. `format` is not validated. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Function that returns the issues of a value, at most {@link maxIssues}, or an empty array if it is valid. */
export type JsonSchemaCheck = (value: unknown) => readonly SchemaIssue[];

/**
 * Maximum number of issues per value: a hostile value of a few megabytes has millions, which take seconds to format.
 */
export const maxIssues = 100;

/**
 * Maximum number of steps per validation, about 60 ms. A payload of 512 KiB takes 20,000 to 250,000 of them against a
 * plain schema; alternatives (`anyOf`) and recursion multiply.
 */
const maxSteps = 300_000;

/** Maximum number of steps to collect further issues after the first one. It bounds their memory. */
const maxStepsToCollect = 10_000;

/**
 * Compiles a schema. A validation takes bounded time and memory, except for the regular expressions in the schema: an
 * invalid value with very many parts has one issue, a smaller one up to {@link maxIssues}.
 *
 * @param subject subject of the error message, such as `event "paid"`
 * @param root first segment of issue paths, such as `payload`
 * @throws {InvalidSchemaError}
 */
export function compileJsonSchema(schema: JsonSchema, subject: string, root: string): JsonSchemaCheck {
  if (schema['$async'] === true) throw new InvalidSchemaError(subject, new Error('$async schemas are not supported'));
  try {
    void metaValidatorFor(schema).validateSchema(schema, true);
    const validate = compile(schema, false);
    let collect: Validator | undefined;
    return (value) => {
      try {
        const first = validate(value, maxSteps);
        if (first.length === 0) return [];
        collect ??= compile(schema, true);
        return (collectIssues(collect, value) ?? first).slice(0, maxIssues).map((error) => toIssue(error, root));
      } catch (error) {
        // ajv calls `valueOf` and `toString` of a value that `enum` or `const` compares, which may have such properties.
        if (error instanceof TypeError) return [{ path: root, message: 'cannot be compared with its schema' }];
        if (!isExhausted(error)) throw error;
        return [{ path: root, message: `needs more than ${maxSteps} steps to be checked; send less at once` }];
      }
    };
  } catch (cause) {
    throw new InvalidSchemaError(subject, cause);
  }
}

/** Returns the errors of a value. @throws {BudgetExceeded | RangeError} if it takes more than `steps` */
type Validator = (value: unknown, steps: number) => readonly ErrorObject[];

function collectIssues(collect: Validator, value: unknown): readonly ErrorObject[] | undefined {
  try {
    return collect(value, maxStepsToCollect);
  } catch (error) {
    if (!isExhausted(error)) throw error;
    return undefined;
  }
}

/** Returns `true` for a used-up budget, or a recursion that is too deep for the stack. */
function isExhausted(error: unknown): boolean {
  return error instanceof BudgetExceeded || error instanceof RangeError;
}

// Loaded when the first JSON Schema is compiled: programs without one do not pay for ajv at import.
const require = createRequire(import.meta.url);

const options: Options = {
  logger: false,
  validateFormats: false,
  // OpenAPI and tool schemas have many unknown keywords, which are annotations.
  strictSchema: false,
  strictTypes: false,
  strictTuples: false,
  // It takes most of the time to compile a large schema, and makes validation hardly faster.
  code: { optimize: false },
};

/** Compiles with an ajv of its own: ajv retains every schema that it compiles and refuses a second `$id`. */
function compile(schema: JsonSchema, allErrors: boolean): Validator {
  const Ajv = ajvClassFor(schema);
  // The schema is already validated, and a second compilation of the meta-schema would take 20 ms.
  const ajv = new Ajv({ ...options, allErrors, meta: false, validateSchema: false });
  const budget = new SchemaBudget();
  budget.install(ajv);
  installUniqueItems(ajv, budget);
  const validate = ajv.compile(instrument(schema));
  return (value, steps) => {
    budget.reset(steps);
    try {
      return validate(value) ? [] : (validate.errors ?? []);
    } finally {
      countSteps(budget.spent);
      // They refer to the value, which would stay in memory until the next call.
      validate.errors = null;
    }
  };
}

const metaValidators = new Map<AjvClass, Ajv>();

function metaValidatorFor(schema: JsonSchema): Ajv {
  const AjvClass = ajvClassFor(schema);
  const ajv = metaValidators.get(AjvClass) ?? new AjvClass(options);
  metaValidators.set(AjvClass, ajv);
  return ajv;
}

type AjvClass = new (options: Options) => Ajv;

function ajvClassFor(schema: JsonSchema): AjvClass {
  const isDraft7 = typeof schema['$schema'] === 'string' && /draft-07/.test(schema['$schema']);
  // Matches the types that ajv declares for these two modules.
  const { default: Ajv } = require(isDraft7 ? 'ajv' : 'ajv/dist/2020') as { default: AjvClass };
  return Ajv;
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
    return `must not have the property ${quote(String(params['additionalProperty']))}`;
  return message;
}
