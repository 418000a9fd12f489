/** Formats one segment of a path such as `payload.items[2]["a b"]`, including its separator. */
export function formatPathSegment(key: PropertyKey): string {
  if (typeof key === 'symbol') return `[${String(key)}]`;
  const name = String(key);
  if (/^\d+$/.test(name)) return `[${name}]`;
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
