import { isJson, type PostedRequest } from '../posted-request.js';

/** The parts of a request that tell a page of the same origin from one of another site. */
type OriginParts = Pick<PostedRequest<unknown>, 'host' | 'header'>;

/** Reason to refuse a request. */
export type OriginRefusal = 'content-type' | 'origin' | 'site';

/**
 * Returns the reason to refuse a request that acts; `undefined` if a page of the same origin, or a program, sent it.
 * Browsers set `Origin` and `Sec-Fetch-Site`, and no page can change them.
 *
 * @param allowedOrigins in place of the origin whose host is that of the request
 */
export function refuseForeign(
  request: OriginParts,
  allowedOrigins: ReadonlySet<string> | undefined,
): OriginRefusal | undefined {
  const { host, header } = request;
  if (!isJson(request)) return 'content-type';
  if (!isSameSite(request)) return 'site';
  const origin = header('origin');
  if (origin === undefined || !URL.canParse(origin)) return 'origin';
  const url = new URL(origin);
  // Of `file:` and of `null`, the host is empty.
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const isSame =
    allowedOrigins === undefined
      ? host !== undefined && hostOf(url.protocol, host) === url.host
      : allowedOrigins.has(origin);
  return isWeb && isSame ? undefined : 'origin';
}

/** Returns the reason to refuse a read, which a browser also sends for a link or an address that the user typed. */
export function refuseForeignRead(request: OriginParts): OriginRefusal | undefined {
  return request.header('sec-fetch-site') === 'none' || isSameSite(request) ? undefined : 'site';
}

function isSameSite({ header }: OriginParts): boolean {
  const site = header('sec-fetch-site');
  return site === undefined || site === 'same-origin';
}

/** Returns a host as origins have it: in lower case, without the port of the protocol. */
function hostOf(protocol: string, host: string): string | undefined {
  const text = `${protocol}//${host}/`;
  return URL.canParse(text) && !/[/?#@\\]/.test(host) ? new URL(text).host : undefined;
}
