import { InvalidOptionError } from '../../errors.js';

/** @throws {InvalidOptionError} */
export function checkTypeName(type: unknown, option: string): void {
  const isName = typeof type === 'string' && type.length >= 1 && type.length <= 512 && !/[\p{Cc}\p{Cs}]/u.test(type);
  if (!isName) {
    throw new InvalidOptionError(option, 'a string of 1 to 512 characters, none of them a control character', type);
  }
}
