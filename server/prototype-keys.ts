/**
 * Returns `true` for a property that a recursive merge in a handler would write into the prototype of all objects:
 * `__proto__`, or a `constructor` with a `prototype`.
 */
export function isPrototypeKey(name: string, value: unknown): boolean {
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
