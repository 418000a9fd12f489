import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers';
import type { Ajv, ErrorObject, Options } from 'ajv';
import { InvalidSchemaError, quote, type SchemaIssue } from './errors.js';
import { formatPathSegment } from './redaction.js';

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
 * Returns `true` for a schema with more than this number of objects, which may take seconds to compile.
 *
 * @param schema of any depth
 */
export function hasMoreSubschemas(schema: unknown, limit: number): boolean {
  const open: unknown[] = [schema];
  let count = 0;
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    if (typeof part !== 'object' || part === null) continue;
    if (!Array.isArray(part)) count += 1;
    if (count > limit) return true;
    for (const value of Object.values(part)) open.push(value ?? null);
  }
  return false;
}

/** Options of {@link compileJsonSchema}. */
export interface JsonSchemaOptions {
  /**
   * `false` for a schema of a stranger, whose regular expressions may take exponential time: `pattern` and
   * `patternProperties` have no effect then.
   * @default true
   */
  readonly evaluatesPatterns?: boolean;
}

/**
 * Compiles a schema. A validation takes bounded time and memory, except for the regular expressions in the schema: an
 * invalid value with very many parts has one issue, a smaller one up to {@link maxIssues}.
 *
 * @param subject subject of the error message, such as `event "paid"`
 * @param root first segment of issue paths, such as `payload`
 * @throws {InvalidSchemaError}
 */
export function compileJsonSchema(
  schema: JsonSchema,
  subject: string,
  root: string,
  { evaluatesPatterns = true }: JsonSchemaOptions = {},
): JsonSchemaCheck {
  if (schema['$async'] === true) throw new InvalidSchemaError(subject, new Error('$async schemas are not supported'));
  try {
    void metaValidatorFor(schema).validateSchema(schema, true);
    const validate = compile(schema, { allErrors: false, evaluatesPatterns });
    let collect: Validator | undefined;
    return (value) => {
      try {
        const first = validate(value, maxSteps);
        if (first.length === 0) return [];
        collect ??= compile(schema, { allErrors: true, evaluatesPatterns });
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

const options: Options = {
  logger: false,
  validateFormats: false,
  // OpenAPI and tool schemas have many unknown keywords, which are annotations.
  strictSchema: false,
  strictTypes: false,
  strictTuples: false,
  // It takes most of the time to compile a large schema, and makes validation hardly faster.
  code: { optimize: false },
  // A schema that refers to a large part many times would multiply in code.
  inlineRefs: false,
};

/** Compiles with an ajv of its own: ajv retains every schema that it compiles and refuses a second `$id`. */
function compile(
  schema: JsonSchema,
  { allErrors, evaluatesPatterns }: { allErrors: boolean; evaluatesPatterns: boolean },
): Validator {
  const Ajv = ajvClassFor(schema);
  // The schema is already validated, and a second compilation of the meta-schema would take 20 ms.
  const ajv = new Ajv({ ...options, allErrors, meta: false, validateSchema: false });
  const budget = new SchemaBudget();
  budget.install(ajv);
  installUniqueItems(ajv, budget);
  const validate = ajv.compile(instrument(schema, evaluatesPatterns));
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
  // Loaded with the first JSON Schema: programs without one do not pay for ajv at import.
  const require = createRequire(import.meta.url);
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

/** Keyword that the instrumented schema has in every subschema. Its value is a {@link Meter}. */
const keyword = 'hubline-cost';

/** Thrown by a validator whose budget is used up. */
class BudgetExceeded extends Error {}

/** Budget of one validation: a count of evaluated subschemas, characters and properties. */
class SchemaBudget {
  #left = 0;
  #steps = 0;

  /** Starts a validation that may take `steps`. */
  reset(steps: number): void {
    this.#left = steps;
    this.#steps = steps;
  }

  /** Number of steps that the validation has taken. */
  get spent(): number {
    return this.#steps - this.#left;
  }

  /** @throws {BudgetExceeded} */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new BudgetExceeded();
  }

  /** Makes the schemas that `ajv` compiles spend this budget. They must come from {@link instrument}. */
  install(ajv: Ajv): void {
    ajv.addKeyword({
      keyword,
      schemaType: 'object',
      // A subschema spends before it evaluates anything else, so that a recursion cannot run ahead of the budget.
      before: '$ref',
      error: { message: ({ schema }) => `must be ${(schema as Meter).types?.join(',')}` },
      compile: ({ steps, readsText, readsKeys, types }: Meter) => {
        const only = types?.length === 1 ? types[0] : undefined;
        return (data: unknown): boolean => {
          let size = 0;
          if (typeof data === 'string') size = readsText ? data.length >> 4 : 0;
          else if (readsKeys && typeof data === 'object' && data !== null) size = Object.keys(data).length;
          this.spend(steps + size);
          const isValid =
            only === undefined ? types === undefined || types.some((type) => hasType(data, type)) : hasType(data, only);
          if (!isValid) this.spend(stepsPerIssue);
          return isValid;
        };
      },
    });
  }
}

// An issue takes an object and a path.
const stepsPerIssue = 6;

/** Value of the keyword: steps of one evaluation, and the subschema's `type`, which ajv would check before. */
interface Meter {
  readonly steps: number;
  /** `true` if the time of an evaluation grows with the length of a string. */
  readonly readsText: boolean;
  /** `true` if the time of an evaluation grows with the number of properties. */
  readonly readsKeys: boolean;
  readonly types: readonly string[] | undefined;
}

function hasType(data: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return data === null;
    case 'array':
      return Array.isArray(data);
    case 'object':
      return typeof data === 'object' && data !== null && !Array.isArray(data);
    case 'integer':
      return Number.isInteger(data);
    case 'number':
      return Number.isFinite(data);
    default:
      return typeof data === type;
  }
}

const textKeywords = ['minLength', 'maxLength', 'pattern', 'enum', 'const'];
const keyKeywords = ['additionalProperties', 'patternProperties', 'propertyNames', 'minProperties', 'maxProperties'];
const lists = ['enum', 'required'];

/** Values of these keywords are data, not schemas. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required', 'type']);

/** Values of these keywords are maps from names to schemas. */
const mapKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);

/**
 * Returns a copy of a schema in which every subschema has the keyword, instead of `type`. Values of unknown keywords count as
 * schemas, because a `$ref` may point into them.
 */
function instrument(schema: object, evaluatesPatterns: boolean): object {
  const copies = new Map<object, unknown>();

  function copyMap(map: object): object {
    return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, copy(value)]));
  }

  function copy(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const known = copies.get(value);
    if (known !== undefined) return known;
    const result: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : { [keyword]: meterOf(value) };
    // Registered before its parts: shared parts are copied once, and a cycle ends here.
    copies.set(value, result);
    if (Array.isArray(result)) {
      for (const item of value as unknown[]) result.push(copy(item));
      return result;
    }
    for (const [name, part] of Object.entries(value)) {
      if (!evaluatesPatterns && dependsOnPatterns(name, value)) continue;
      if (!isTyped(value) || (name !== 'type' && name !== 'nullable')) result[name] = copyPart(name, part);
    }
    return result;
  }

  function copyPart(name: string, part: unknown): unknown {
    if (dataKeywords.has(name)) return part;
    return mapKeywords.has(name) && isMap(part) ? copyMap(part) : copy(part);
  }

  return copy(schema) as object;
}

/** Returns `true` for a keyword whose effect depends on regular expressions. */
function dependsOnPatterns(keyword: string, schema: object): boolean {
  if (keyword === 'pattern' || keyword === 'patternProperties') return true;
  return (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') && 'patternProperties' in schema;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTyped(schema: object): schema is { type: string | string[]; nullable?: unknown } {
  return 'type' in schema && (typeof schema.type === 'string' || Array.isArray(schema.type));
}

function meterOf(schema: object): Meter {
  const fields = schema as Readonly<Record<string, unknown>>;
  const listed = lists.map((name) => fields[name]).filter(Array.isArray);
  const names = [fields['properties'], fields['patternProperties']].filter(isMap).map((map) => Object.keys(map));
  const parts = [...listed, ...names].reduce((sum, list) => sum + list.length, 0);
  // All alternatives but one have issues.
  const alternatives = ['anyOf', 'oneOf', 'contains'].flatMap((name) => fields[name]).filter(isMap).length >> 1;
  return {
    steps: 1 + (parts >> 3) + stepsPerIssue * alternatives,
    readsText: textKeywords.some((name) => name in schema),
    readsKeys: keyKeywords.some((name) => name in schema),
    types: isTyped(schema) ? [schema.type, schema.nullable === true ? 'null' : []].flat() : undefined,
  };
}

/**
 * Replaces the `uniqueItems` of `ajv`, which compares every pair of items, by one whose time grows with the size of
 * the array.
 */
function installUniqueItems(ajv: Ajv, budget: SchemaBudget): void {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have duplicate items' },
    validate: (isRequired: boolean, items: readonly unknown[]) => !isRequired || areUnique(items, budget),
  });
}

function areUnique(items: readonly unknown[], budget: SchemaBudget): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item, budget);
    if (seen.has(text)) return false;
    seen.add(text);
  }
  return true;
}

/** Returns JSON that is equal for equal values, whatever the order of their properties. */
function canonicalJson(value: unknown, budget: SchemaBudget): string {
  if (typeof value === 'string') {
    budget.spend(1 + (value.length >> 4));
    return JSON.stringify(value);
  }
  budget.spend(1);
  // JSON Schema compares numbers by value: 0 and -0 are one.
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, budget)).join()}]`;
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field, budget)}`);
  return `{${fields.join()}}`;
}

// The function itself: fake timers of a test must not stop the checks.
// A few milliseconds. A check that takes more ends the turn.
const stepsPerTurn = 20_000;

let left = stepsPerTurn;
let nextTurn: Promise<void> | undefined;

/** Counts steps of a check of a value against a schema, over the whole process. */
function countSteps(steps: number): void {
  left -= steps;
}

/**
 * Returns the next turn of the event loop if checks have used up this one, so that two values that take long to check
 * do not add up for everybody else. Callers check again then: they continue in the order of their calls, and one of
 * the first may use up the turn.
 */
export function turnToCheck(): Promise<void> | undefined {
  if (left > 0) return undefined;
  nextTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      left = stepsPerTurn;
      nextTurn = undefined;
      resolve();
    });
  });
  return nextTurn;
}
