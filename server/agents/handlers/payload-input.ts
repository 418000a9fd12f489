/**
 * Derives an agent's input from a payload: a string payload unchanged, else the first of the `fields` that is a
 * string, else the payload's JSON.
 */
export function inputOf(payload: unknown, fields: readonly string[]): string {
  if (typeof payload === 'string') return payload;
  if (typeof payload === 'object' && payload !== null) {
    for (const field of fields) {
      const value: unknown = Reflect.get(payload, field);
      if (typeof value === 'string') return value;
    }
  }
  return JSON.stringify(payload) ?? 'null';
}
