import { brotli, digest, gzip, html } from '../html.generated.js';
import { acceptsEncoding, matchesEtag } from '../request.js';
import type { DashboardRequest, DashboardResponse, Header } from '../response.js';

/** Returns the dashboard page: one constant HTML document that finds the JSON routes relative to its own URL. */
export function getDashboardHtml(): string {
  return html;
}

interface Representation {
  readonly etag: string;
  readonly full: DashboardResponse;
  readonly notModified: DashboardResponse;
}

/** Returns the response for the page, in the best compression that the client accepts. */
export function pageResponse(request: DashboardRequest): DashboardResponse {
  const { etag, full, notModified } = representationFor(request.acceptEncoding);
  return matchesEtag(request.ifNoneMatch, etag) ? notModified : full;
}

function representationFor(acceptEncoding: string | undefined): Representation {
  if (acceptsEncoding(acceptEncoding, 'br')) return brotliPage();
  if (acceptsEncoding(acceptEncoding, 'gzip')) return gzipPage();
  return plainPage();
}

const brotliPage = once(() => representation('br', Buffer.from(brotli, 'base64')));
const gzipPage = once(() => representation('gzip', Buffer.from(gzip, 'base64')));
const plainPage = once(() => representation(undefined, Buffer.from(html)));

// A strong tag identifies bytes, so each encoding has its own.
function representation(coding: 'br' | 'gzip' | undefined, body: Buffer): Representation {
  const etag = coding === undefined ? `"${digest}"` : `"${digest}-${coding}"`;
  const validators: Header[] = [
    ['ETag', etag],
    ['Vary', 'Accept-Encoding'],
  ];
  const headers: Header[] = [['Content-Type', 'text/html; charset=utf-8'], ...validators];
  if (coding !== undefined) headers.push(['Content-Encoding', coding]);
  return { etag, full: { status: 200, headers, body }, notModified: { status: 304, headers: validators } };
}

function once<T>(create: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= create();
    return value;
  };
}
