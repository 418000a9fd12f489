import { InvalidOptionError } from '../errors.js';

const printableAscii = /^[!-~]*$/;

/**
 * Normalizes a base path: `dash`, `/dash` and `/dash/` become `/dash`, and the root becomes the empty string.
 *
 * @param option name of the option
 * @throws {InvalidOptionError} if no request path can start with it
 */
export function normalizeBasePath(basePath: unknown, option: string = 'basePath'): string {
  if (typeof basePath === 'string') {
    let start = 0;
    let end = basePath.length;
    while (basePath[start] === '/') start += 1;
    while (end > start && basePath[end - 1] === '/') end -= 1;
    const trimmed = basePath.slice(start, end);
    if (printableAscii.test(trimmed) && !trimmed.includes('?') && !trimmed.includes('#') && !trimmed.includes('//')) {
      return trimmed === '' ? '' : `/${trimmed}`;
    }
  }
  throw new InvalidOptionError(option, 'a path such as "/dash", percent-encoded, without "?" or "#"', basePath);
}

// Clients send the absolute form to proxies. Servers have to accept it too (RFC 9112, section 3.2.2).
const absoluteForm = /^https?:\/\/[^/]*/i;

/** Returns the path of a request target below a normalized base path, with its leading `/`; `undefined` if it is not below. */
export function pathBelow(basePath: string, target: string): string | undefined {
  const query = target.indexOf('?');
  const path = (query === -1 ? target : target.slice(0, query)).replace(absoluteForm, '');
  if (path === basePath) return '/';
  return path.startsWith(basePath) && path[basePath.length] === '/' ? path.slice(basePath.length) : undefined;
}

/** Percent-decodes once. Returns `undefined` if the text is not valid. */
export function decodeName(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

type Coding = 'br' | 'gzip';

const listItems: Readonly<Record<Coding | '*', RegExp>> = {
  br: itemOf('br'),
  gzip: itemOf('gzip'),
  '*': itemOf('\\*'),
};

/** Returns true if an `Accept-Encoding` header allows a content coding (RFC 9110, section 12.5.3). */
export function acceptsEncoding(header: string | undefined, coding: Coding): boolean {
  if (header === undefined) return false;
  const item = listItems[coding].exec(header) ?? listItems['*'].exec(header);
  return item !== null && !isRefused(item[1]);
}

function itemOf(name: string): RegExp {
  return new RegExp(`(?:^|,)\\s*${name}\\s*(;[^,]*)?(?:,|$)`, 'i');
}

function isRefused(parameters: string | undefined): boolean {
  if (parameters === undefined) return false;
  return parameters.split(';').some((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim().toLowerCase() === 'q' && !(Number(value) > 0);
  });
}

/** Returns true if an `If-None-Match` header contains `etag`, by weak comparison (RFC 9110, section 13.1.2). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag) return true;
  const opaque = opaqueTag(etag);
  return ifNoneMatch.split(',').some((item) => {
    const tag = item.trim();
    return tag === '*' || opaqueTag(tag) === opaque;
  });
}

function opaqueTag(etag: string): string {
  return etag.startsWith('W/') ? etag.slice(2) : etag;
}
