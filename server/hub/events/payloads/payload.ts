import { HubError, messageOf } from '../../../errors.js';
import { formatPathSegment } from '../../../redaction/format-path.js';
import { isPrototypeKey } from '../../../prototype-keys.js';
import { PayloadNotJsonError, PayloadTooLargeError } from '../../errors.js';

/** Maximum number of levels of a payload: validators and handlers recurse over it. */
const maxDepth = 100;

/**
 * Encodes a payload as JSON. As with `JSON.stringify`, values with a `toJSON` method (such as a `Date`) are replaced by
 * its result, and properties that are `undefined` are omitted. Any other value that JSON would change or omit
 * is an error.
 *
 * @param root name of the value in errors, such as `payload`
 * @param isStrict `true` makes a value with a `toJSON` method an error too
 * @throws {PayloadNotJsonError | PayloadTooLargeError}
 */
export function encodePayload(
  payload: unknown,
  type: string,
  maxPayloadBytes: number,
  root = 'payload',
  isStrict = false,
): string {
  let json: string;
  try {
    const inspection: Inspection = { ancestors: [], isStrict, size: 0, maxSize: maxPayloadBytes };
    const flaw = findFlaw(payload, '', inspection);
    if (inspection.size > maxPayloadBytes) {
      throw new PayloadTooLargeError(root, type, inspection.size, maxPayloadBytes, true);
    }
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

/** Returns the paths of all values that JSON replaces by the result of their `toJSON` method, with their class. */
export function findConversions(value: unknown, path: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const search = (inner: unknown, innerPath: string): void => {
    if (typeof inner !== 'object' || inner === null) return;
    if ('toJSON' in inner && typeof inner.toJSON === 'function') found.set(innerPath, classNameOf(inner));
    else if (Array.isArray(inner)) for (const [index, item] of inner.entries()) search(item, `${innerPath}[${index}]`);
    else for (const [name, field] of Object.entries(inner)) search(field, innerPath + formatPathSegment(name));
  };
  search(value, path);
  return found;
}

function classNameOf(value: object): string {
  return `a ${value.constructor?.name || 'value with toJSON'}`;
}

interface Inspection {
  /** Objects that contain the inspected value. */
  readonly ancestors: object[];
  /** A value with a `toJSON` method is a flaw. */
  readonly isStrict: boolean;
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

// Ends the inspection. The size tells the caller why.
const tooLarge: Flaw = { path: '', found: '' };

function findFlaw(value: unknown, key: string, inspection: Inspection): Flaw | undefined {
  inspection.size += 1;
  if (inspection.size > inspection.maxSize) return tooLarge;
  switch (typeof value) {
    case 'string':
      inspection.size += value.length + 1;
      return undefined;
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : { path: '', found: String(value) };
    case 'object':
      return value === null ? undefined : findFlawInObject(value, key, inspection);
    case 'bigint':
      return { path: '', found: `the bigint ${value}n` };
    case 'undefined':
      return { path: '', found: 'undefined' };
    default:
      return { path: '', found: `a ${typeof value}` };
  }
}

function findFlawInObject(value: object, key: string, inspection: Inspection): Flaw | undefined {
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) return { path: '', found: 'an invalid Date' };
    if (inspection.isStrict) return { path: '', found: classNameOf(value) };
    const json: unknown = value.toJSON(key);
    if (json !== value) return findFlaw(json, key, inspection);
  }
  const { ancestors } = inspection;
  if (ancestors.includes(value)) return { path: '', found: 'a circular reference' };
  if (ancestors.length === maxDepth) return tooDeep;
  ancestors.push(value);
  const flaw = Array.isArray(value) ? findFlawInItems(value, inspection) : findFlawInFields(value, inspection);
  ancestors.pop();
  return flaw;
}

function findFlawInItems(items: readonly unknown[], inspection: Inspection): Flaw | undefined {
  for (let i = 0; i < items.length; i += 1) {
    const flaw = findFlaw(items[i], String(i), inspection);
    if (flaw !== undefined) return { path: `[${i}]${flaw.path}`, found: flaw.found };
  }
  return undefined;
}

function findFlawInFields(value: object, inspection: Inspection): Flaw | undefined {
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
    inspection.size += name.length + 3;
    const flaw = findFlaw(field, name, inspection);
    if (flaw === undefined) continue;
    return { path: formatPathSegment(name) + flaw.path, found: flaw.found };
  }
  return undefined;
}
