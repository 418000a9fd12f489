/** Copies a value that is made of the types of JSON alone. The copy shares no object with it. */
export function cloneJson(value: unknown): unknown {
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
