import { HubError, ignoreRejection, messageOf } from '../../errors.js';
import { formatPathSegment } from '../../redaction.js';
import { PayloadNotJsonError, PayloadTooLargeError } from '../errors.js';

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
  return takeSnapshot(payload, type, maxPayloadBytes, root, isStrict).json;
}

/** Copies a payload as {@link encodePayload} would encode it. Calls each getter and `toJSON` once. */
export function takeSnapshot(
  payload: unknown,
  type: string,
  maxPayloadBytes: number,
  root = 'payload',
  isStrict = false,
): Snapshot {
  const inspection = { type, root, isStrict, maxSize: maxPayloadBytes, size: 0 };
  try {
    const copy = copyValue(payload, '', undefined, inspection);
    return new Snapshot(copy, inspection.size);
  } catch (error) {
    // Stack overflow, in a toJSON that returns ever deeper values.
    if (error instanceof RangeError) throw new PayloadNotJsonError(root, tooDeep);
    if (error instanceof HubError) throw error;
    // A getter or toJSON of the payload threw.
    throw new PayloadNotJsonError(root, `not readable (${messageOf(error)})`, { cause: error });
  }
}

/**
 * Checks the size of a payload's JSON.
 *
 * @param payloadOf returns the part of `json` that is the payload
 * @throws {PayloadTooLargeError}
 */
export function checkSize(
  json: string,
  type: string,
  maxPayloadBytes: number,
  root: string,
  payloadOf: (json: string) => string = identity,
): void {
  // One UTF-16 code unit is at most three bytes of UTF-8, so most payloads need no measuring.
  if (json.length * 3 <= maxPayloadBytes) return;
  const bytes = Buffer.byteLength(payloadOf(json));
  if (bytes > maxPayloadBytes) throw new PayloadTooLargeError(root, type, bytes, maxPayloadBytes);
}

function identity(json: string): string {
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

const tooDeep = `nested more than ${maxDepth} levels deep`;

interface Inspection {
  readonly type: string;
  /** Name of the payload in errors. */
  readonly root: string;
  /** A value with a `toJSON` method is an error. */
  readonly isStrict: boolean;
  readonly maxSize: number;
  /** Bytes of JSON so far: a payload that is too large is not read to its end. */
  size: number;
}

/** Object that contains a value. */
interface Ancestor {
  readonly value: object;
  readonly key: string | number;
  readonly parent: Ancestor | undefined;
  /** Number of objects that contain it. */
  readonly depth: number;
}

/** Returns what parsing the value's JSON would return. @throws {PayloadNotJsonError | PayloadTooLargeError} */
function copyValue(
  value: unknown,
  key: string | number,
  parent: Ancestor | undefined,
  inspection: Inspection,
): unknown {
  switch (typeof value) {
    case 'string':
      growByText(inspection, value);
      return value;
    case 'boolean':
      grow(inspection, value ? 4 : 5);
      return value;
    case 'number':
      if (!Number.isFinite(value)) refuse(inspection, parent, key, String(value));
      grow(inspection, sizeOfNumber(value));
      // JSON has no negative zero.
      return value || 0;
    case 'object':
      if (value !== null) return copyObject(value, key, parent, inspection);
      grow(inspection, 4);
      return null;
    case 'bigint':
      return refuse(inspection, parent, key, `the bigint ${value}n`);
    case 'undefined':
      return refuse(inspection, parent, key, 'undefined');
    default:
      return refuse(inspection, parent, key, `a ${typeof value}`);
  }
}

function copyObject(
  value: object,
  key: string | number,
  parent: Ancestor | undefined,
  inspection: Inspection,
): unknown {
  const { toJSON } = value as { readonly toJSON?: unknown };
  if (typeof toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) refuse(inspection, parent, key, 'an invalid Date');
    if (inspection.isStrict) refuse(inspection, parent, key, classNameOf(value));
    const json: unknown = toJSON.call(value, String(key));
    if (json !== value) return copyValue(json, key, parent, inspection);
  }
  const depth = parent === undefined ? 0 : parent.depth + 1;
  if (depth === maxDepth) refuse(inspection, parent, key, tooDeep);
  for (let each = parent; each !== undefined; each = each.parent) {
    if (each.value === value) refuse(inspection, parent, key, 'a circular reference');
  }
  const place = { value, key, parent, depth };
  if (Array.isArray(value)) return copyItems(value, place, inspection);
  if (!isRecord(value)) {
    ignoreRejection(value);
    refuse(inspection, parent, key, `of class ${tagOf(value)}`);
  }
  return copyFields(value, place, inspection);
}

function copyItems(items: readonly unknown[], place: Ancestor, inspection: Inspection): unknown[] {
  const copy: unknown[] = [];
  grow(inspection, 1);
  for (let index = 0; index < items.length; index += 1) {
    grow(inspection, 1);
    copy.push(copyValue(items[index], index, place, inspection));
  }
  if (copy.length === 0) grow(inspection, 1);
  return copy;
}

function copyFields(value: object, place: Ancestor, inspection: Inspection): object {
  const fields = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  let isEmpty = true;
  grow(inspection, 1);
  // Unlike `Object.keys`, it makes no array. It also finds inherited properties.
  for (const name in fields) {
    if (!Object.hasOwn(fields, name)) continue;
    const field = fields[name];
    if (field === undefined) continue;
    if (isPrototypeKey(name, field)) refuse(inspection, place, name, 'a prototype');
    grow(inspection, 2);
    growByText(inspection, name);
    copy[name] = copyValue(field, name, place, inspection);
    isEmpty = false;
  }
  if (isEmpty) grow(inspection, 1);
  return copy;
}

/** Returns `false` for a Map, Set, Error, RegExp or typed array: JSON loses their content, which is not in properties. */
function isRecord(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || tagOf(value) === 'Object';
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}

function growByText(inspection: Inspection, text: string): void {
  const atLeast = text.length + 2;
  grow(inspection, atLeast);
  if (text.length > longText || !isPlain(text)) grow(inspection, Buffer.byteLength(JSON.stringify(text)) - atLeast);
}

/** Length from which it is faster to encode a text than to read it here. */
const longText = 64;

/** Returns `true` for printable ASCII that JSON does not escape. */
function isPlain(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false;
  }
  return true;
}

/** Returns the length of a number as JSON. */
function sizeOfNumber(value: number): number {
  // The engine caches the texts of numbers, and keeps each of them alive for a while.
  if (Math.trunc(value) !== value || Math.abs(value) > maxInteger) return String(value).length;
  let length = value < 0 ? 2 : 1;
  for (let rest = Math.abs(value); rest >= 10; rest = Math.trunc(rest / 10)) length += 1;
  return length;
}

/** Maximum integer whose digits are counted without making its text. */
const maxInteger = 2 ** 31;

function grow(inspection: Inspection, bytes: number): void {
  inspection.size += bytes;
  const { size, maxSize, root, type } = inspection;
  if (size > maxSize) throw new PayloadTooLargeError(root, type, size, maxSize, true);
}

function refuse({ root }: Inspection, parent: Ancestor | undefined, key: string | number, found: string): never {
  let path = parent === undefined ? '' : formatPathSegment(key);
  for (let each = parent; each?.parent !== undefined; each = each.parent) path = formatPathSegment(each.key) + path;
  throw new PayloadNotJsonError(root + path, found);
}

/** Size of JSON in bytes above which a snapshot is packed at once. */
const maxValueSize = 8_192;

/** Payload of an event as it was emitted. Holds a value of JSON types, and makes the JSON when it is first read. */
export class Snapshot {
  /** Size of the JSON in bytes of UTF-8. */
  readonly size: number;
  #value: unknown;
  #json: string | undefined;

  /**
   * @param value what parsing the JSON returns, and nobody else refers to; `undefined` if there is only the JSON
   * @param size size of the JSON in bytes of UTF-8
   * @param json needed if there is no value
   */
  constructor(value: unknown, size: number, json?: string) {
    this.#value = value;
    this.size = size;
    this.#json = json;
    if (size > maxValueSize) this.pack();
  }

  static ofJson(json: string): Snapshot {
    return new Snapshot(undefined, Buffer.byteLength(json), json);
  }

  get json(): string {
    this.#json ??= JSON.stringify(this.#value);
    return this.#json;
  }

  /** Returns a copy of the payload. @throws {SyntaxError} if the JSON is invalid */
  copy(): unknown {
    return this.#value === undefined ? JSON.parse(this.json) : cloneJson(this.#value);
  }

  /** Returns a copy of the payload, or the value itself if the JSON suffices for all other readers. */
  take(): unknown {
    const value = this.#value;
    if (value === undefined || this.#json === undefined) return this.copy();
    this.#value = undefined;
    return value;
  }

  /** Keeps the JSON alone: a value takes several times its memory. */
  pack(): void {
    this.#json = this.json;
    this.#value = undefined;
  }
}

/** Copies a value that is made of the types of JSON alone. The copy shares no object with it. */
function cloneJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneJson);
  const copy: Record<string, unknown> = { ...value };
  // Unlike `Object.keys`, it makes no array. It also finds what a library adds to all objects.
  for (const name in copy) {
    const field = copy[name];
    if (typeof field === 'object' && field !== null && Object.hasOwn(copy, name)) copy[name] = cloneJson(field);
  }
  return copy;
}

/** Returns a shorter form of a result, whose JSON has at most `maxBytes` if that is possible. */
export type Shorten<T> = (result: T, maxBytes: number) => unknown;

const shortenKey: unique symbol = Symbol('hubline.shorten');

/** Adds a short form to a result, for a hub that finds it too large. The property is not enumerable. */
export function shortenable<T extends object>(result: T, shorten: Shorten<T>): T {
  return Object.defineProperty(result, shortenKey, { value: shorten });
}

/**
 * Encodes what a handler, a step or a run returned as JSON. A result that is too large is replaced by its short form if
 * it has one: what was paid must not be lost because it is long.
 *
 * @param root name of the result in errors
 * @throws {PayloadNotJsonError | PayloadTooLargeError}
 */
export function encodeResult(result: unknown, type: string, maxPayloadBytes: number, root: string): string {
  try {
    return encodePayload(result, type, maxPayloadBytes, root);
  } catch (error) {
    const shorten = PayloadTooLargeError.is(error) ? shortenOf(result) : undefined;
    if (shorten === undefined) throw error;
    return encodePayload(shorten(result, maxPayloadBytes), type, maxPayloadBytes, root);
  }
}

function shortenOf(result: unknown): Shorten<unknown> | undefined {
  // Only `shortenable` sets this key.
  return (Object(result) as { readonly [shortenKey]?: Shorten<unknown> })[shortenKey];
}

/**
 * Value inside a recorded result: dates and other objects with `toJSON` become what that returns. What is refused, such
 * as a function, is `never`: so is `undefined` in an array, while a property that is `undefined` is left out.
 */
type RecordedField<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends { toJSON(): infer TJson }
    ? RecordedField<TJson>
    : T extends (...args: never) => unknown
      ? never
      : T extends bigint | symbol
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: RecordedElement<T[K]> }
          : T extends object
            ? { [K in keyof T]: RecordedField<T[K]> }
            : T;

type RecordedElement<T> = T extends void ? never : RecordedField<T>;

/**
 * Type of a result after it was recorded as JSON, which is what a step resolves with. A step that returns nothing
 * resolves with `null`, and a `Date` becomes a string. A part that no result can have, such as `undefined` in an array,
 * is `never`: the step fails with {@link PayloadNotJsonError}.
 */
export type Recorded<T> = unknown extends T ? T : T extends void ? null : RecordedField<T>;

/**
 * Returns `true` for a property that a recursive merge in a handler would write into the prototype of all objects:
 * `__proto__`, or a `constructor` with a `prototype`.
 */
function isPrototypeKey(name: string, value: unknown): boolean {
  if (name === '__proto__') return true;
  return name === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
}

/** Parses JSON. @throws {SyntaxError} also for a property that {@link isPrototypeKey} finds */
export function parseWithoutPrototypes(json: string): unknown {
  // A reviver is slow, and only such a text can contain the names, escaped or not.
  return JSON.parse(json, /__proto__|constructor|\\u/.test(json) ? refusePrototype : undefined);
}

function refusePrototype(name: string, value: unknown): unknown {
  if (isPrototypeKey(name, value)) throw new SyntaxError(`the key "${name}" is not allowed`);
  return value;
}
