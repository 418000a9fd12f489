import { InvalidOptionError } from '../../errors.js';

const printableAscii = /^[!-~]*$/;

/**
 * `dash`, `/dash` and `/dash/` become `/dash`; the root, however written, becomes the empty string.
 *
 * @throws {InvalidOptionError} where no request path could begin so
 */
export function normalizeBasePath(basePath: unknown): string {
  if (typeof basePath === 'string') {
    let begin = 0;
    let end = basePath.length;
    while (basePath[begin] === '/') begin += 1;
    while (end > begin && basePath[end - 1] === '/') end -= 1;
    const trimmed = basePath.slice(begin, end);
    if (printableAscii.test(trimmed) && !trimmed.includes('?') && !trimmed.includes('#') && !trimmed.includes('//')) {
      return trimmed === '' ? '' : `/${trimmed}`;
    }
  }
  throw new InvalidOptionError('basePath', 'a path such as "/dash", percent-encoded, without "?" or "#"', basePath);
}

// What a client sends to a proxy, and a server has to take as well (RFC 9112, section 3.2.2).
const absoluteForm = /^https?:\/\/[^/]*/i;

/** The path of a request target below a normalised base path, from its `/` on; `undefined` where it lies elsewhere. */
export function pathBelow(basePath: string, target: string): string | undefined {
  const query = target.indexOf('?');
  const path = (query === -1 ? target : target.slice(0, query)).replace(absoluteForm, '');
  if (path === basePath) return '/';
  return path.startsWith(basePath) && path[basePath.length] === '/' ? path.slice(basePath.length) : undefined;
}

/** Percent-decodes once; `undefined` where that is not possible. */
export function decodeName(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
