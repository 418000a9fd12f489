/** Values of other frameworks as JSON, with the bytes, dates and addresses that it has no form for. */

const tags: ReadonlySet<string> = new Set(['$bytes', '$date', '$url', '$object']);

/**
 * Returns a value as JSON that {@link fromJsonValue} reads. What JSON leaves out is left out, and a `bigint` becomes a
 * text.
 *
 * @throws {TypeError} for an object that contains itself
 */
export function toJsonValue(value: unknown, within: ReadonlySet<object> = new Set()): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (value instanceof ArrayBuffer) return { $bytes: Buffer.from(value).toString('base64') };
  // The time of an invalid date is no JSON.
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : { $date: value.getTime() };
  if (value instanceof URL) return { $url: value.href };
  if (within.has(value)) throw new TypeError('the value contains itself');
  const inside = new Set(within).add(value);
  if ('toJSON' in value && typeof value.toJSON === 'function') return toJsonValue(value.toJSON(), inside);
  if (Array.isArray(value)) return value.map((each) => toJsonValue(each, inside) ?? null);
  const entries = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
    const json = toJsonValue(each, inside);
    return json === undefined ? [] : [[name, json]];
  });
  const object = Object.fromEntries(entries);
  const [only] = entries;
  return entries.length === 1 && only !== undefined && tags.has(only[0]) ? { $object: object } : object;
}

/** Returns the value that {@link toJsonValue} was called with. */
export function fromJsonValue(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(fromJsonValue);
  const entries = Object.entries(json);
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) {
    const [tag, value] = only;
    if (tag === '$bytes') return new Uint8Array(Buffer.from(String(value), 'base64'));
    if (tag === '$date') return new Date(Number(value));
    if (tag === '$url') return new URL(String(value));
    if (tag === '$object') return fromFields(Object.entries(value));
  }
  return fromFields(entries);
}

function fromFields(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries.map(([name, value]) => [name, fromJsonValue(value)]));
}
