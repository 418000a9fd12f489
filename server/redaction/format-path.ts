/** Formats one segment of a path such as `payload.items[2]["a b"]`, including its separator. */
export function formatPathSegment(key: PropertyKey): string {
  if (typeof key === 'symbol') return `[${String(key)}]`;
  // A key of the payload may be as long as the payload, and is repeated in every issue below it.
  const name = cutKey(String(key));
  if (/^\d+$/.test(name)) return `[${name}]`;
  return /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

const maxKeyLength = 80;

function cutKey(key: string): string {
  return key.length > maxKeyLength ? `${key.slice(0, maxKeyLength - 1)}…` : key;
}

/** Segments of a formatted path: `.name`, or `["any name"]`. */
const namedSegment = /\.([^.[\]]+)|\[("(?:[^"\\]|\\.)*")\]/g;

/**
 * Returns a path without the keys that may be data, such as an address as the key of a record: each is replaced by `*`.
 *
 * @param isDeclared returns `true` for a key that the code declares; by default, for one that looks like an identifier
 */
export function publicPath(path: string, isDeclared: (key: string) => boolean = looksDeclared): string {
  return path.replace(namedSegment, (segment, plain: string | undefined, quoted: string | undefined) => {
    const key: unknown = plain ?? (quoted === undefined ? undefined : JSON.parse(quoted));
    return typeof key === 'string' && isDeclared(key) ? segment : '.*';
  });
}

function looksDeclared(key: string): boolean {
  return /^[A-Za-z_$][\w$]{0,39}$/.test(key);
}
