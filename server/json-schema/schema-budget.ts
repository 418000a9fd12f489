import type { Ajv } from 'ajv';

/** Keyword that the instrumented schema has in every subschema. Its value is a {@link Meter}. */
const keyword = 'hubline-cost';

/** Thrown by a validator whose budget is used up. */
export class BudgetExceeded extends Error {}

/** Budget of one validation: a count of evaluated subschemas, characters and properties. */
export class SchemaBudget {
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
      validate: ({ steps, readsText, readsKeys, types }: Meter, data: unknown): boolean => {
        let size = 0;
        if (typeof data === 'string') size = readsText ? data.length >> 4 : 0;
        else if (readsKeys && typeof data === 'object' && data !== null) size = Object.keys(data).length;
        this.spend(steps + size);
        if (types === undefined || types.some((type) => hasType(data, type))) return true;
        this.spend(stepsPerIssue);
        return false;
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
export function instrument(schema: object): object {
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
