import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../errors.js';
import { acceptsEncoding, decodeName, matchesEtag, normalizeBasePath, pathBelow } from './request.js';

describe('normalizeBasePath', () => {
  it.each([
    ['', ''],
    ['/', ''],
    ['//', ''],
    ['dash', '/dash'],
    ['/dash', '/dash'],
    ['/dash/', '/dash'],
    ['dash/', '/dash'],
    ['/ops/hub//', '/ops/hub'],
    ['/%E6%97%A5', '/%E6%97%A5'],
    ['/a.b+c(d)', '/a.b+c(d)'],
  ])('reads %j as %j', (given, expected) => {
    expect(normalizeBasePath(given)).toBe(expected);
  });

  it.each(['/日本', '/a b', '/dash?x', '/dash#x', '/a//b', 'https://example.com/dash', '/a\nb', 7, null])(
    'rejects %j, below which no request can arrive',
    (given) => {
      expect(() => normalizeBasePath(given)).toThrow(InvalidOptionError);
    },
  );
});

describe('pathBelow', () => {
  it.each([
    ['', '/', '/'],
    ['', '', '/'],
    ['', '?x=/y', '/'],
    ['', '/api/introspection', '/api/introspection'],
    ['', '/api/introspection?at=1?2', '/api/introspection'],
    ['', '//', '//'],
    ['', '*', undefined],
    ['', 'http://localhost', '/'],
    ['', 'http://localhost?x=/y', '/'],
    ['', 'HTTPS://user@localhost:8080/api/introspection', '/api/introspection'],
    ['', '/http://localhost/', '/http://localhost/'],
    ['', 'ftp://localhost/', undefined],
    ['/dash', '/dash', '/'],
    ['/dash', '/dash/', '/'],
    ['/dash', '/dash?a/b', '/'],
    ['/dash', '/dash/api/events/a', '/api/events/a'],
    ['/dash', '/dash/dash', '/dash'],
    ['/dash', 'http://localhost/dash/', '/'],
    ['/dash', 'http://localhost/', undefined],
    ['/dash', 'http://dash/dash2', undefined],
    ['/dash', '/dash2', undefined],
    ['/dash', '/das', undefined],
    ['/dash', '/', undefined],
    ['/dash', '/Dash', undefined],
    ['/dash', '/x?/dash/', undefined],
    ['/a.b', '/axb', undefined],
    ['/(a+)+', '/(a+)+/', '/'],
  ])('below %j, %j is %j', (basePath, target, expected) => {
    expect(pathBelow(basePath, target)).toBe(expected);
  });

  it('returns the path that follows any base path', () => {
    const segment = fc.string({ minLength: 1 }).filter((text) => /^[!-~]+$/.test(text) && !/[/?#]/.test(text));
    const rest = fc.string({ unit: 'binary' }).filter((text) => !text.includes('?'));
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 3 }), rest, fc.string(), (segments, following, query) => {
        const basePath = normalizeBasePath(segments.join('/'));
        expect(pathBelow(basePath, `${basePath}/${following}?${query}`)).toBe(`/${following}`);
      }),
    );
  });
});

describe('decodeName', () => {
  it.each([
    ['a/b', 'a/b'],
    ['a%2Fb', 'a/b'],
    ['50%25', '50%'],
    ['%252F', '%2F'],
    ['a+b', 'a+b'],
    ['%E6%97%A5%e6%9c%ac', '日本'],
    ['', ''],
    ['%', undefined],
    ['50%', undefined],
    ['%E6%97', undefined],
    ['%ff', undefined],
  ])('reads %j as %j', (encoded, expected) => {
    expect(decodeName(encoded)).toBe(expected);
  });

  it('undoes encodeURIComponent for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(decodeName(encodeURIComponent(name))).toBe(name);
      }),
    );
  });
});

it.each([
  [undefined, false, false],
  ['', false, false],
  ['gzip', true, false],
  ['br', false, true],
  ['gzip, deflate, br, zstd', true, true],
  ['GZip;Q=0.5 , BR ; q=1', true, true],
  ['br;q=0, gzip', true, false],
  ['br;q=0.000, gzip;q=0.001', true, false],
  ['gzip;q=0', false, false],
  ['*', true, true],
  ['*;q=0', false, false],
  ['*;q=0, gzip', true, false],
  ['gzip;q=0, *', false, true],
  ['*, gzip;q=0', false, true],
  ['identity', false, false],
  ['identity;q=0, gzip', true, false],
  ['gzipped, xbr', false, false],
  ['gzip;q=much', false, false],
  ['gzip;level=9', true, false],
  [',,;;q=0,', false, false],
])('reads Accept-Encoding %j as gzip %j, br %j', (header, gzip, br) => {
  expect(acceptsEncoding(header, 'gzip')).toBe(gzip);
  expect(acceptsEncoding(header, 'br')).toBe(br);
});

it.each([
  [undefined, '"a"', false],
  ['', '"a"', false],
  ['"a"', '"a"', true],
  ['W/"a"', '"a"', true],
  ['"a"', 'W/"a"', true],
  ['W/"a"', 'W/"a"', true],
  ['"b"', '"a"', false],
  ['"b", W/"a" , "c"', '"a"', true],
  ['"b","c"', '"a"', false],
  ['*', '"a"', true],
  [' * ', '"a"', true],
  ['a', '"a"', false],
  ['w/"a"', '"a"', false],
  ['"*"', '"a"', false],
  ['"x,"a""', '"a"', false],
])('If-None-Match %j matches %j: %j', (header, etag, expected) => {
  expect(matchesEtag(header, etag)).toBe(expected);
});
