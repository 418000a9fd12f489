import { InvalidOptionError } from '../errors.js';
import { scriptHashes, styleHashes } from './html.generated.js';
import type { Header } from './http/response.js';

/**
 * CSP sources, such as `'sha256-…'`, of the page's inline script and style. An application that serves
 * `getDashboardHtml()` itself adds them to its own policy.
 */
export const dashboardCspHashes: { readonly script: readonly string[]; readonly style: readonly string[] } = {
  script: scriptHashes,
  style: styleHashes,
};

/** Returns the headers that every response has. @param isPrivate keeps responses out of shared caches */
export function commonHeaders(frameAncestors: readonly string[], isPrivate: boolean): readonly Header[] {
  const policy = [
    "default-src 'none'",
    `script-src ${dashboardCspHashes.script.join(' ')}`,
    `style-src ${dashboardCspHashes.style.join(' ')}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    // The page creates no markup from text, so it needs no policy that may.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
    `frame-ancestors ${frameAncestors.join(' ')}`,
  ];
  return [
    ['Cache-Control', isPrivate ? 'private, no-cache' : 'no-cache'],
    ['Content-Security-Policy', policy.join('; ')],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['Referrer-Policy', 'no-referrer'],
    ['X-Content-Type-Options', 'nosniff'],
    ['X-Robots-Tag', 'noindex'],
  ];
}

// Printable ASCII without `,` and `;`, which would end the header or the directive.
const cspSource = /^[!-+\--:<-~]+$/;

/**
 * Returns a copy of the sources.
 *
 * @throws {InvalidOptionError} if a source is not valid in the header
 */
export function checkFrameAncestors(sources: unknown): readonly string[] {
  const valid =
    Array.isArray(sources) &&
    sources.length > 0 &&
    sources.every((source): source is string => typeof source === 'string' && cspSource.test(source));
  if (!valid) {
    const got = Array.isArray(sources) ? JSON.stringify(sources) : sources;
    throw new InvalidOptionError(
      'frameAncestors',
      `CSP sources such as ["'self'", "https://admin.example.com"], each without spaces, ";" or ","`,
      got,
    );
  }
  return [...sources];
}
