/** Returns a function that creates a value at its first call. The formatters of `Intl` take milliseconds to create. */
export function lazy<T>(create: () => T): () => T {
  let value: { readonly created: T } | undefined;
  return () => {
    value ??= { created: create() };
    return value.created;
  };
}
