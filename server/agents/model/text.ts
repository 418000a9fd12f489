/**
 * Text that reaches models and stores: never with half of a surrogate pair, which vendors refuse with the whole
 * request.
 *
 * @module
 */

/**
 * Returns JSON whose texts, names included, are well-formed: an unpaired surrogate becomes U+FFFD. Returns the same
 * value if it has none.
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
