/**
 * Returns the delay that a vendor requests, in milliseconds: `retry-after-ms`, `Retry-After` in seconds or as a date
 * (RFC 9110, section 10.2.3), or Gemini's `google.rpc.RetryInfo` in the body.
 *
 * @param headers names in lower case
 * @param body `error` object of the response
 * @param now epoch milliseconds
 */
export function retryAfterMsOf(
  headers: Readonly<Record<string, unknown>>,
  body: Readonly<Record<string, unknown>>,
  now: number,
): number | undefined {
  return (
    toNumber(headers['retry-after-ms']) ?? fromHeader(headers['retry-after'], now) ?? fromRetryInfo(body['details'])
  );
}

function fromHeader(value: unknown, now: number): number | undefined {
  const seconds = toNumber(value);
  if (seconds !== undefined) return seconds * 1000;
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function fromRetryInfo(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    if (typeof detail !== 'object' || detail === null) continue;
    const { '@type': type, retryDelay }: { '@type'?: unknown; retryDelay?: unknown } = detail;
    if (typeof type !== 'string' || !type.endsWith('google.rpc.RetryInfo')) continue;
    const seconds = typeof retryDelay === 'string' ? toNumber(/^(.*)s$/.exec(retryDelay)?.[1]) : undefined;
    if (seconds !== undefined) return seconds * 1000;
  }
  return undefined;
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}
