import type { JsonSchema } from '../../json-schema.js';
import { formatPathSegment } from '../../redaction.js';
import { isRecord, recordOf } from '../model/foreign-values.js';
import { mapSubschemas, moveRoot, resolveReference } from '../model/subschemas.js';

/** JSON Schema in the form of a vendor. It accepts what the original accepts, except if `isNarrower`. */
export interface WireSchema {
  readonly schema: JsonSchema;
  /** Rules that the form cannot express, each with the path of its value, for the prompt. */
  readonly unsaid: readonly string[];
  /** The form excludes values that the schema accepts, such as the entries of a map: it must not constrain an answer. */
  readonly isNarrower: boolean;
}

/** First segment of the paths in rules. */
export type WireRoot = 'arguments' | 'answer';

/**
 * Returns a schema as draft 2020-12 whose root is a plain object: the form of tools of OpenAI, Anthropic and most
 * others.
 *
 * @param names names of properties that the vendor accepts
 * @see https://platform.openai.com/docs/guides/function-calling
 * @see https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use
 */
export function toPlainSchema(schema: JsonSchema, root: WireRoot, names?: RegExp): WireSchema {
  const { $schema: _dialect, $id: _id, ...plain } = normalize(schema);
  const rules = new Rules(plain);
  const flat = flattenRoot(plain, root, rules);
  const object = { ...flat, type: 'object', properties: recordOf(flat['properties']) };
  const sent = names === undefined ? object : withNames(names, object, root, rules);
  return { schema: sent, unsaid: rules.lines(), isNarrower: false };
}

/** Applies what holds for every form: draft 2020-12, no `nullable` of OpenAPI, and arrays that name their items. */
function normalize(schema: JsonSchema): JsonSchema {
  const { nullable, additionalItems, ...normal } = mapSubschemas(schema, normalize);
  const { type, items } = normal;
  const types = typesOf(normal);
  return {
    ...normal,
    ...(nullable === true && type !== undefined && { type: [...new Set([...types, 'null'])] }),
    ...(Array.isArray(items) && { prefixItems: items, items: additionalItems ?? true }),
    // OpenAI refuses arrays without.
    ...(types.includes('array') && items === undefined && { items: {} }),
  };
}

function typesOf({ type }: JsonSchema): readonly string[] {
  return (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string');
}

/** Keywords that OpenAI and Anthropic refuse at the root. */
const refusedAtRoot: readonly string[] = [
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const', '$ref'],
];

/** Merges the forms at the root into one object with the properties of all. */
function flattenRoot(schema: JsonSchema, path: string, rules: Rules): JsonSchema {
  if (!refusedAtRoot.some((keyword) => keyword in schema)) return schema;
  const all = [schema, ...partsOf(schema, schema)];
  const alternatives = all.flatMap(({ anyOf, oneOf }) => [anyOf, oneOf]).filter(Array.isArray);
  const forms = alternatives.map((list) => list.map((form) => mergedParts(recordOf(form), schema)));
  const properties = new Map<string, unknown[]>();
  for (const part of [...all, ...forms.flat()]) {
    for (const [name, value] of Object.entries(recordOf(part['properties']))) {
      properties.set(name, [...(properties.get(name) ?? []), value]);
    }
  }
  const required = [...all.flatMap(requiredOf), ...forms.flatMap(requiredInAll)];
  const isClosed = [...all, ...forms.flat()].some((part) => part['additionalProperties'] === false);
  const stated = all.some((part) => 'properties' in part || 'required' in part);
  for (const keyword of refusedAtRoot) {
    const value = schema[keyword];
    if (value === undefined || keyword === '$ref' || keyword === 'allOf') continue;
    rules.add(path, keyword, value);
  }
  for (const part of all.slice(1)) {
    for (const [keyword, value] of Object.entries(part)) {
      if (!mergedKeywords.includes(keyword)) rules.add(path, keyword, value);
    }
  }
  const others = Object.entries(schema).filter(([keyword]) => !refusedAtRoot.includes(keyword));
  const merged = {
    ...Object.fromEntries(others),
    properties: Object.fromEntries([...properties].map(([name, values]) => [name, anyOfThese(values)])),
    ...((stated || required.length > 0) && { required: [...new Set(required)] }),
    ...(isClosed && { additionalProperties: false }),
  };
  const hasInside = /"\$ref":"#(\/(?!\$defs\/)|")/.test(JSON.stringify(merged));
  if (!hasInside) return merged;
  const { $defs, ...whole } = moveRoot(schema, '#/$defs/root');
  return { ...moveRoot(merged, '#/$defs/root'), $defs: { ...recordOf($defs), root: whole } };
}

const mergedKeywords: readonly string[] = [
  ...['properties', 'required', 'type', 'additionalProperties', '$ref', '$defs', 'definitions', 'allOf'],
  ...['title', 'description'],
];

/** Returns the schemas that apply together with a schema: those of `$ref` and `allOf`. */
function partsOf(schema: JsonSchema, root: JsonSchema, seen: ReadonlySet<unknown> = new Set()): JsonSchema[] {
  const { $ref, allOf } = schema;
  const referred = typeof $ref === 'string' ? [resolveReference(root, $ref)] : [];
  const parts = [...referred, ...(Array.isArray(allOf) ? allOf : [])]
    .filter(isRecord)
    .filter((part) => !seen.has(part));
  const next = new Set([...seen, ...parts]);
  return parts.flatMap((part) => [part, ...partsOf(part, root, next)]);
}

function mergedParts(form: JsonSchema, root: JsonSchema): JsonSchema {
  const parts = [form, ...partsOf(form, root)];
  return {
    properties: Object.assign({}, ...parts.map(({ properties }) => recordOf(properties))),
    required: parts.flatMap(requiredOf),
    ...(parts.some((part) => part['additionalProperties'] === false) && { additionalProperties: false }),
  };
}

function requiredOf({ required }: JsonSchema): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

function requiredInAll(forms: readonly JsonSchema[]): readonly string[] {
  const [first, ...others] = forms.map(requiredOf);
  return (first ?? []).filter((name) => others.every((names) => names.includes(name)));
}

/** Returns a schema that accepts what one of these accepts. */
function anyOfThese(schemas: readonly unknown[]): unknown {
  const distinct = [...new Map(schemas.map((each) => [JSON.stringify(each), each])).values()];
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct };
}

/** Names of properties that Anthropic accepts. */
export const anthropicNames: RegExp = /^[\w.-]{1,64}$/;

/** Leaves out properties whose names a vendor refuses. */
function withNames(names: RegExp, schema: JsonSchema, path: string, rules: Rules): JsonSchema {
  const mapped = mapSubschemas(schema, (inner) => withNames(names, inner, path, rules));
  const properties = Object.entries(recordOf(mapped['properties']));
  const refused = properties.filter(([name]) => !names.test(name));
  if (refused.length === 0) return mapped;
  for (const [name, value] of refused) rules.add(path, `property ${JSON.stringify(name)}`, value);
  const { additionalProperties: _closed, ...open } = mapped;
  return {
    ...open,
    properties: Object.fromEntries(properties.filter(([name]) => names.test(name))),
    required: requiredOf(mapped).filter((name) => names.test(name)),
  };
}

/** Rules that a form cannot express, by path. */
class Rules {
  readonly #byPath = new Map<string, Record<string, unknown>>();
  readonly #root: JsonSchema;

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  add(path: string, keyword: string, value: unknown): void {
    const rules = this.#byPath.get(path) ?? {};
    let name = keyword;
    while (name in rules && JSON.stringify(rules[name]) !== JSON.stringify(value)) name = `also ${name}`;
    rules[name] = value;
    this.#byPath.set(path, rules);
  }

  /** Returns one line per path, and one with the definitions to which they refer. */
  lines(): string[] {
    const lines = [...this.#byPath].map(([path, rules]) => `${path}: ${JSON.stringify(rules)}`);
    const { $defs, definitions } = this.#root;
    const hasReference = lines.some((line) => line.includes('"$ref"'));
    return hasReference ? [...lines, `definitions: ${JSON.stringify({ $defs, definitions })}`] : lines;
  }
}

/** Form of a vendor that has no references, and few keywords. */
export interface InlineForm {
  /** Keywords beside the structure that the vendor, or its package, passes on to the model. */
  readonly keywords: readonly string[];
  readonly formats: readonly string[];
  /** Types whose values an `enum` may list. */
  readonly enumTypes: readonly string[];
  /** `anyOf` must be the only keyword of its schema. */
  readonly isAnyOfAlone: boolean;
}

/**
 * Schemas of Gemini: a subset of OpenAPI 3.0, of which its package passes on even less.
 *
 * @see https://ai.google.dev/api/caching#Schema
 */
export const geminiForm: InlineForm = {
  keywords: ['minLength'],
  formats: ['date-time', 'float', 'double', 'int32', 'int64'],
  enumTypes: ['string'],
  isAnyOfAlone: true,
};

/**
 * Answers of Anthropic. Its package writes limits into the description.
 *
 * @see https://docs.anthropic.com/en/docs/build-with-claude/structured-outputs#json-schema-limitations
 */
export const anthropicForm: InlineForm = {
  keywords: [
    ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
    ...['pattern', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'default', 'format'],
  ],
  formats: [],
  enumTypes: ['string', 'number', 'integer', 'boolean'],
  isAnyOfAlone: false,
};

/** Returns a schema without references in a vendor's form. */
export function toInlineSchema(schema: JsonSchema, root: WireRoot, form: InlineForm): WireSchema {
  const normal = normalize(schema);
  const inliner = new Inliner(normal, form);
  try {
    const inlined = inliner.inline(normal, root, new Map());
    return { schema: recordOf(inlined), unsaid: inliner.rules.lines(), isNarrower: inliner.isNarrower };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // Too many or too deep parts: the form has the names only, and the prompt the schema.
    const names = Object.keys(recordOf(normal['properties'])).slice(0, maxParts);
    const properties = Object.fromEntries(names.map((name) => [name, anyValue]));
    const unsaid = [`${root}: ${JSON.stringify(normal)}`];
    return { schema: { type: 'object', properties }, unsaid, isNarrower: true };
  }
}

/** Maximum number of schemas, inlined ones included: definitions that refer to each other twice grow exponentially. */
const maxParts = 1_000;

/** JSON of any type, as far as a form without references can say. */
const anyItem = ['string', 'number', 'boolean', 'object'].map((type) => ({ type }));
const anyValue: JsonSchema = { anyOf: [...anyItem, { type: 'array', items: { anyOf: anyItem } }] };

/** Keywords that the structure of the result expresses, and annotations that no model needs. */
const structural: ReadonlySet<string> = new Set([
  ...['type', 'enum', 'const', 'properties', 'required', 'items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', '$ref'],
  ...['additionalProperties', '$defs', 'definitions', 'title', 'description', '$schema', '$id', '$comment', '$anchor'],
  ...['deprecated', 'readOnly', 'writeOnly', 'contentMediaType', 'contentEncoding'],
]);

/** Types to which a keyword belongs, for a schema without `type`. */
const typeOfKeyword: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['minLength', 'maxLength', 'pattern', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** References that are being resolved, with the path of each. */
type Trail = ReadonlyMap<string, string>;

class Inliner {
  readonly rules: Rules;
  isNarrower = false;
  readonly #root: JsonSchema;
  readonly #form: InlineForm;
  #parts = 0;

  constructor(root: JsonSchema, form: InlineForm) {
    this.#root = root;
    this.#form = form;
    this.rules = new Rules(root);
  }

  /** Returns a schema in the form, or `undefined` for one that no value matches. @throws {RangeError} if it is too large */
  inline(schema: unknown, path: string, above: Trail): JsonSchema | undefined {
    this.#parts += 1;
    if (this.#parts > maxParts) throw new RangeError('too many schemas');
    if (schema === false) return undefined;
    const trail = new Map(above);
    if (path === 'arguments' || path === 'answer') trail.set('#', path);
    const node = this.#resolve(recordOf(schema), path, trail);
    if (node === undefined) return { type: 'object' };
    const values = Array.isArray(node['enum']) ? node['enum'] : 'const' in node ? [node['const']] : undefined;
    if (values !== undefined) return this.#enum(values, node, path);
    const keyword = ['anyOf', 'oneOf'].find((each) => Array.isArray(node[each]));
    if (keyword !== undefined) return this.#alternatives(node, keyword, path, trail);
    const types = typesOf(node);
    const stated = types.length > 0 ? types : typesImplied(node);
    if (stated.length === 0) return this.#any(node, path);
    const [only] = stated;
    if (stated.length === 1 && only !== undefined) return this.#typed(only, node, path, trail);
    return this.#union(
      stated.map((type) => this.#typed(type, onlyFor(type, node), path, trail)),
      node,
    );
  }

  /** Resolves `$ref` and `allOf`. Returns `undefined` for a recursion. */
  #resolve(schema: JsonSchema, path: string, trail: Map<string, string>): JsonSchema | undefined {
    let node = schema;
    while (typeof node['$ref'] === 'string') {
      const { $ref, ...siblings } = node;
      const reference = String($ref);
      const same = trail.get(reference);
      if (same === path) {
        // A part of this value already, such as the common base of two others.
        node = siblings;
        continue;
      }
      if (same !== undefined) {
        this.#narrow(path, 'has the form of', same);
        return undefined;
      }
      trail.set(reference, path);
      node = this.#merge(recordOf(resolveReference(this.#root, reference)), siblings, path);
    }
    const { allOf, ...rest } = node;
    if (!Array.isArray(allOf)) return node;
    let merged: JsonSchema = rest;
    for (const part of allOf) {
      const resolved = this.#resolve(recordOf(part), path, trail);
      if (resolved === undefined) return undefined;
      merged = this.#merge(resolved, merged, path);
    }
    return merged;
  }

  /** Returns a schema for values that match both. What it cannot merge becomes a rule. */
  #merge(a: JsonSchema, b: JsonSchema, path: string): JsonSchema {
    const merged: Record<string, unknown> = { ...a, ...b };
    for (const [keyword, value] of Object.entries(a)) {
      const other = b[keyword];
      if (other === undefined || JSON.stringify(other) === JSON.stringify(value)) continue;
      if (keyword === 'required') merged[keyword] = [...new Set([...requiredOf(a), ...requiredOf(b)])];
      else if (keyword === 'properties') {
        const own = recordOf(value);
        const both = Object.entries(recordOf(other)).map(([name, each]) => {
          return [name, Object.hasOwn(own, name) ? { allOf: [own[name], each] } : each];
        });
        merged[keyword] = { ...own, ...Object.fromEntries(both) };
      } else if (keyword === 'type') {
        const types = typesOf(a).filter((type) => typesOf(b).includes(type));
        merged[keyword] = types.length > 0 ? types : other;
      } else if (keyword === 'enum' && Array.isArray(value) && Array.isArray(other)) {
        merged[keyword] = value.filter((each) => other.includes(each));
      } else if (!['description', 'title', 'default', '$defs', 'definitions'].includes(keyword)) {
        this.rules.add(path, keyword, value);
      }
    }
    return merged;
  }

  #alternatives(node: JsonSchema, keyword: string, path: string, trail: Trail): JsonSchema {
    const { [keyword]: list, description, title, default: _default, $defs, definitions, ...base } = node;
    const branches: unknown[] = Array.isArray(list) ? list : [];
    if (keyword === 'oneOf' && !areDisjoint(branches.map((each) => this.#peek(each)))) {
      this.rules.add(path, 'oneOf', 'exactly one of the alternatives');
    }
    this.#sayRest({ default: node['default'] }, path);
    const inlined = branches.map((branch, index) => {
      const isWhole = branch === false || Object.keys(base).length === 0;
      return this.inline(isWhole ? branch : { allOf: [base, branch] }, `${path} (alternative ${index + 1})`, trail);
    });
    return this.#union(inlined, { description, title });
  }

  #peek(schema: unknown): JsonSchema {
    const { $ref } = recordOf(schema);
    return typeof $ref === 'string' ? recordOf(resolveReference(this.#root, $ref)) : recordOf(schema);
  }

  /** Combines alternatives. A member that is itself a union is dissolved. */
  #union(members: readonly (JsonSchema | undefined)[], { description, title }: JsonSchema): JsonSchema {
    const flat = members.flatMap((member) => {
      const { anyOf } = member ?? {};
      return Array.isArray(anyOf) ? anyOf.map(recordOf) : member === undefined ? [] : [member];
    });
    const distinct = [...new Map(flat.map((member) => [JSON.stringify(member), member])).values()];
    const text = description ?? title;
    const described = (member: JsonSchema): JsonSchema =>
      text === undefined || 'description' in member ? member : { ...member, description: text };
    const [only] = distinct;
    if (distinct.length <= 1) return described(only ?? { type: 'null' });
    if (!this.#form.isAnyOfAlone) return { ...(text !== undefined && { description: text }), anyOf: distinct };
    // Its package writes a member of type null beside the others, where the vendor refuses it.
    const [first, ...others] = distinct.filter(({ type }) => type !== 'null');
    if (first === undefined) return { type: 'null' };
    const isNullable = distinct.length > others.length + 1;
    const head = isNullable ? { ...first, type: [...typesOf(first), 'null'] } : first;
    return others.length === 0 ? described(head) : { anyOf: [head, ...others].map(described) };
  }

  #enum(values: readonly unknown[], node: JsonSchema, path: string): JsonSchema {
    const types = typesOf(node);
    const isAllowed = (value: unknown): boolean =>
      types.length === 0 || types.includes(typeOf(value)) || (types.includes('number') && typeof value === 'number');
    const groups = new Map<string, unknown[]>();
    for (const value of values.filter(isAllowed)) {
      const type = typeOf(value) === 'integer' && types.includes('number') ? 'number' : typeOf(value);
      groups.set(type, [...(groups.get(type) ?? []), value]);
    }
    const members = [...groups].map(([type, group]): JsonSchema => {
      if (type === 'null' || (type === 'boolean' && new Set(group).size === 2)) return { type };
      const isListed = this.#form.enumTypes.includes(type) && !group.includes('');
      if (isListed) return { type, enum: group };
      this.rules.add(path, 'enum', values);
      if (type === 'object' || type === 'array') this.isNarrower = true;
      return type === 'array' ? { type, items: { type: 'string' } } : { type };
    });
    const { enum: _enum, const: _const, ...rest } = node;
    this.#sayRest({ default: rest['default'] }, path);
    return this.#union(members, node);
  }

  #any(node: JsonSchema, path: string): JsonSchema {
    this.#sayRest(node, path);
    this.#narrow(path, 'type', 'any JSON');
    return this.#union([anyValue], node);
  }

  #typed(type: string, node: JsonSchema, path: string, trail: Trail): JsonSchema {
    const out: Record<string, unknown> = { type };
    const text = node['description'] ?? node['title'];
    if (text !== undefined) out['description'] = text;
    if (type === 'object') this.#object(out, node, path, trail);
    if (type === 'array') this.#array(out, node, path, trail);
    for (const [keyword, value] of Object.entries(this.#sayRest(node, path))) out[keyword] = value;
    return out;
  }

  #object(out: Record<string, unknown>, node: JsonSchema, path: string, trail: Trail): void {
    const { additionalProperties, patternProperties } = node;
    const given = Object.entries(recordOf(node['properties']));
    const properties = given.flatMap(([name, each]) => {
      const inlined = this.inline(each, path + formatPathSegment(name), trail);
      if (inlined !== undefined) return [[name, inlined] as const];
      this.rules.add(path + formatPathSegment(name), 'not', {});
      return [];
    });
    const isFree = additionalProperties === undefined && !('properties' in node);
    if (isFree || isRecord(additionalProperties) || additionalProperties === true) {
      this.#narrow(path, 'additionalProperties', additionalProperties ?? true);
    }
    if (patternProperties !== undefined) this.isNarrower = true;
    if ('properties' in node) out['properties'] = Object.fromEntries(properties);
    const names = properties.map(([name]) => name);
    const required = requiredOf(node).filter((name) => names.includes(name));
    if (required.length > 0) out['required'] = required;
    // Gemini refuses it in an answer, or knows no other value.
    if (names.length === 0 && this.#form.isAnyOfAlone && trail.get('#') !== path) this.isNarrower = true;
    const unnamed = requiredOf(node).filter((name) => !names.includes(name));
    if (unnamed.length > 0) this.rules.add(path, 'required', unnamed);
    if (!this.#form.isAnyOfAlone) out['additionalProperties'] = false;
  }

  #array(out: Record<string, unknown>, node: JsonSchema, path: string, trail: Trail): void {
    const { prefixItems, items } = node;
    if (!Array.isArray(prefixItems)) {
      if (items === false) this.rules.add(path, 'maxItems', 0);
      out['items'] = this.inline(items === false ? true : (items ?? true), `${path}[]`, trail) ?? { type: 'string' };
      return;
    }
    this.rules.add(path, 'prefixItems', prefixItems);
    this.rules.add(path, 'items', items ?? true);
    const members = prefixItems.map((each) => this.inline(each, `${path}[]`, trail));
    out['items'] = this.#union(
      items === false || items === true ? members : [...members, this.inline(items, `${path}[]`, trail)],
      {},
    );
    if (items === true) this.isNarrower = true;
  }

  /** Returns the keywords that the form has as they are, and adds the others to the rules. */
  #sayRest(node: JsonSchema, path: string): JsonSchema {
    const said: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(node)) {
      if (structural.has(keyword) || value === undefined) continue;
      const isKept =
        this.#form.keywords.includes(keyword) || (keyword === 'format' && this.#form.formats.includes(String(value)));
      if (isKept) said[keyword] = value;
      else this.rules.add(path, keyword, value);
    }
    return said;
  }

  #narrow(path: string, keyword: string, value: unknown): void {
    this.isNarrower = true;
    this.rules.add(path, keyword, value);
  }
}

function typesImplied(node: JsonSchema): readonly string[] {
  const found = typeOfKeyword.filter(([, keywords]) => keywords.some((keyword) => keyword in node));
  return found.length === 1 ? found.map(([type]) => type) : [];
}

/** Returns the keywords of a schema that say something about values of a type. */
function onlyFor(type: string, node: JsonSchema): JsonSchema {
  const general = type === 'integer' ? 'number' : type;
  const foreign = typeOfKeyword.filter(([each]) => each !== general).flatMap(([, keywords]) => keywords);
  const { description: _description, title: _title, ...rest } = node;
  return Object.fromEntries(Object.entries(rest).filter(([keyword]) => !foreign.includes(keyword)));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** Returns `true` if no value can match two of the schemas: types or the values of a required property differ. */
function areDisjoint(schemas: readonly JsonSchema[]): boolean {
  const types = schemas.map(typesOf);
  const all = types.flat();
  if (types.every((each) => each.length > 0) && new Set(all).size === all.length) return true;
  const [first] = schemas;
  return requiredOf(first ?? {}).some((name) => {
    const values = schemas.map((schema) => {
      const { const: value, enum: list } = recordOf(recordOf(schema['properties'])[name]);
      const own = Array.isArray(list) ? list : value === undefined ? [] : [value];
      return requiredOf(schema).includes(name) ? own : [];
    });
    return values.every(({ length }) => length > 0) && new Set(values.flat()).size === values.flat().length;
  });
}

/** Keywords of OpenAI's strict mode, which refuses a schema with others. */
const strictKeywords: readonly string[] = [
  ...['type', 'properties', 'required', 'additionalProperties', 'items', 'enum', 'const', 'anyOf', '$defs'],
  ...['title', 'description', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minItems', 'maxItems'],
];

/** Limits of OpenAI's strict mode. */
const strictLimits = { properties: 5_000, depth: 10, values: 1_000, chars: 120_000 };

/**
 * Returns `true` if OpenAI accepts the schema in its strict mode: every property is required, no object is open, and
 * every part has a type.
 *
 * @see https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function isStrictSchema(schema: JsonSchema): boolean {
  const size = { properties: 0, values: 0, chars: 0 };
  const isPart = (part: unknown, depth: number): boolean => {
    if (!isRecord(part) || depth > strictLimits.depth) return false;
    // It takes no other keyword beside a reference.
    if ('$ref' in part)
      return Object.keys(part).length === 1 && isRecord(resolveReference(schema, String(part['$ref'])));
    if (!Object.keys(part).every((keyword) => strictKeywords.includes(keyword))) return false;
    const { anyOf, enum: values = [], const: value, items } = part;
    const types = typesOf(part);
    const properties = recordOf(part['properties']);
    const definitions = recordOf(part['$defs']);
    const names = Object.keys(properties);
    const listed = [...(Array.isArray(values) ? values : []), ...(value === undefined ? [] : [value])];
    size.properties += names.length;
    size.values += listed.length;
    size.chars += [...names, ...Object.keys(definitions), ...listed].join('').length;
    const isClosed = part['additionalProperties'] === false && 'properties' in part;
    const required = requiredOf(part);
    return (
      (types.length > 0 ? !('anyOf' in part) : Array.isArray(anyOf)) &&
      (!types.includes('object') || (isClosed && names.every((name) => required.includes(name)))) &&
      (!types.includes('array') || isPart(items, depth + 1)) &&
      (!Array.isArray(anyOf) || anyOf.every((each) => isPart(each, depth))) &&
      Object.values(properties).every((each) => isPart(each, depth + 1)) &&
      Object.values(definitions).every((each) => isPart(each, 1))
    );
  };
  return (
    schema['type'] === 'object' &&
    isPart(schema, 0) &&
    size.properties <= strictLimits.properties &&
    size.values <= strictLimits.values &&
    size.chars <= strictLimits.chars
  );
}

/** Maximum number of optional properties with which Anthropic compiles an answer's schema without a time-out. */
const maxOptional = 10;

/** Returns `true` if an inlined schema has few enough optional properties for Anthropic. */
export function hasFewOptionals(schema: JsonSchema): boolean {
  let optional = 0;
  const count = (part: JsonSchema): JsonSchema => {
    const required = requiredOf(part);
    optional += Object.keys(recordOf(part['properties'])).filter((name) => !required.includes(name)).length;
    return mapSubschemas(part, count);
  };
  count(schema);
  return optional <= maxOptional;
}

/** Returns the text for a prompt that says what a form cannot, or `undefined` if it says everything. */
export function describeUnsaid({ unsaid }: WireSchema, root: WireRoot): string | undefined {
  if (unsaid.length === 0) return undefined;
  return [`Rules of the ${root} that the schema does not show:`, ...unsaid.map((line) => `- ${line}`)].join('\n');
}
