import { InvalidOptionError } from './errors.js';

/**
 * Refuses options that nobody reads: a misspelt `retries` must not pass for a setting.
 *
 * @throws {InvalidOptionError}
 */
export function checkOptionNames(options: object, names: readonly string[], owner: string): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new InvalidOptionError(`option of ${owner}`, `one of ${names.join(', ')}`, unknown);
}
