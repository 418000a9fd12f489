/**
 * Values that models, vendors, users and servers wrote: unknown until parsed, and not always well-formed.
 *
 * @module
 */

/** Returns `true` for an object that is no array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the fields of an object; none for any other value. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** Parses a JSON text. Returns `undefined` for any other value, such as the HTML page of a proxy. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // The message of the error quotes the text.
    return undefined;
  }
}

/**
 * Returns JSON whose texts, names included, are well-formed: half of a surrogate pair, for which vendors refuse the whole
 * request, becomes U+FFFD. Returns the same value if it has none.
 */
export function wellFormed<T>(value: T): T {
  // The copy has the form of the value.
  return isWellFormed(value) ? value : (repair(value) as T);
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  // No list of entries: a turn takes microseconds.
  for (const name in value) if (!name.isWellFormed() || !isWellFormed(Reflect.get(value, name))) return false;
  return true;
}

function repair(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(repair);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name.toWellFormed(), repair(each)]));
}

/** Returns the first `maxChars` characters of a text, one less if it would split a surrogate pair. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const last = text.charCodeAt(maxChars - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars);
}
