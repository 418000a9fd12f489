import { brotli, digest, gzip, html } from '../html.generated.js';
import { acceptsEncoding } from '../http/accept-encoding.js';
import { matchesEtag } from '../http/etag.js';
import type { Answer, DashboardRequest, Header } from '../http/response.js';

/** The dashboard page: one HTML document without templating, that finds its JSON routes beside its own address. */
export function getDashboardHtml(): string {
  return html;
}

interface Representation {
  readonly etag: string;
  readonly full: Answer;
  readonly notModified: Answer;
}

/** Answers with the page, compressed as the client allows. */
export function pageAnswer(request: DashboardRequest): Answer {
  const { etag, full, notModified } = representationFor(request.acceptEncoding);
  return matchesEtag(request.ifNoneMatch, etag) ? notModified : full;
}

function representationFor(acceptEncoding: string | undefined): Representation {
  if (acceptsEncoding(acceptEncoding, 'br')) return inBrotli();
  if (acceptsEncoding(acceptEncoding, 'gzip')) return inGzip();
  return plain();
}

const inBrotli = once(() => representation('br', Buffer.from(brotli, 'base64')));
const inGzip = once(() => representation('gzip', Buffer.from(gzip, 'base64')));
const plain = once(() => representation(undefined, Buffer.from(html)));

// A strong tag stands for bytes, so each encoding has its own.
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

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
