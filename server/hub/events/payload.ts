import { HubError, messageOf } from '../../errors.js';
import { formatPathSegment } from '../../format-path.js';
import { isPrototypeKey } from '../../prototype-keys.js';
import { PayloadNotJsonError, PayloadTooLargeError } from '../errors.js';

/** Maximum number of levels of a payload: validators and handlers recurse over it. */
const maxDepth = 100;

/**
 * Encodes a payload as JSON. As with `JSON.stringify`, values with a `toJSON` method (such as a `Date`) are replaced by
 * its result, and properties that are `undefined` are omitted. Any other value that JSON would change or omit
 * is an error.
 *
 * @param root name of the value in errors, such as `payload`
 * @throws {PayloadNotJsonError | PayloadTooLargeError}
 */
export function encodePayload(payload: unknown, type: string, maxPayloadBytes: number, root = 'payload'): string {
  let json: string;
  try {
    const walk: Walk = { ancestors: [], size: 0, maxSize: maxPayloadBytes };
    const flaw = findFlaw(payload, '', walk);
    if (walk.size > maxPayloadBytes) throw new PayloadTooLargeError(root, type, walk.size, maxPayloadBytes, true);
    if (flaw !== undefined) throw new PayloadNotJsonError(root + flaw.path, flaw.found);
    json = JSON.stringify(payload);
  } catch (error) {
    // Stack overflow, in a toJSON that returns ever deeper values.
    if (error instanceof RangeError) throw new PayloadNotJsonError(root, tooDeep.found);
    if (error instanceof HubError) throw error;
    // A getter or toJSON of the payload threw.
    throw new PayloadNotJsonError(root, `not readable (${messageOf(error)})`, { cause: error });
  }
  // One UTF-16 code unit is at most three bytes of UTF-8, so most payloads need no measuring.
  if (json.length * 3 > maxPayloadBytes) {
    const bytes = Buffer.byteLength(json);
    if (bytes > maxPayloadBytes) throw new PayloadTooLargeError(root, type, bytes, maxPayloadBytes);
  }
  return json;
}

/** State of the search for a flaw. */
interface Walk {
  readonly ancestors: object[];
  /** Bytes of JSON so far, at least: a payload that is far too large is not read to its end. */
  size: number;
  readonly maxSize: number;
}

interface Flaw {
  /** Path below the inspected value. */
  readonly path: string;
  readonly found: string;
}

const tooDeep: Flaw = { path: '', found: `nested more than ${maxDepth} levels deep` };

// Ends the walk. The size tells the caller why.
const tooLarge: Flaw = { path: '', found: '' };

function findFlaw(value: unknown, key: string, walk: Walk): Flaw | undefined {
  walk.size += 1;
  if (walk.size > walk.maxSize) return tooLarge;
  switch (typeof value) {
    case 'string':
      walk.size += value.length + 1;
      return undefined;
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : { path: '', found: String(value) };
    case 'object':
      return value === null ? undefined : findFlawInObject(value, key, walk);
    case 'bigint':
      return { path: '', found: `the bigint ${value}n` };
    case 'undefined':
      return { path: '', found: 'undefined' };
    default:
      return { path: '', found: `a ${typeof value}` };
  }
}

function findFlawInObject(value: object, key: string, walk: Walk): Flaw | undefined {
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) return { path: '', found: 'an invalid Date' };
    const json: unknown = value.toJSON(key);
    if (json !== value) return findFlaw(json, key, walk);
  }
  const { ancestors } = walk;
  if (ancestors.includes(value)) return { path: '', found: 'a circular reference' };
  if (ancestors.length === maxDepth) return tooDeep;
  ancestors.push(value);
  const flaw = Array.isArray(value) ? findFlawInItems(value, walk) : findFlawInFields(value, walk);
  ancestors.pop();
  return flaw;
}

function findFlawInItems(items: readonly unknown[], walk: Walk): Flaw | undefined {
  for (let i = 0; i < items.length; i += 1) {
    const flaw = findFlaw(items[i], String(i), walk);
    if (flaw !== undefined) return { path: `[${i}]${flaw.path}`, found: flaw.found };
  }
  return undefined;
}

function findFlawInFields(value: object, walk: Walk): Flaw | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    // JSON would lose the content of a Map, Set, Error, RegExp or typed array: it is not in their properties.
    const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
    if (tag !== 'Object') return { path: '', found: `of class ${tag}` };
  }
  for (const name of Object.keys(value)) {
    const field: unknown = Reflect.get(value, name);
    if (field === undefined) continue;
    if (isPrototypeKey(name, field)) return { path: formatPathSegment(name), found: 'a prototype' };
    walk.size += name.length + 3;
    const flaw = findFlaw(field, name, walk);
    if (flaw === undefined) continue;
    return { path: formatPathSegment(name) + flaw.path, found: flaw.found };
  }
  return undefined;
}
