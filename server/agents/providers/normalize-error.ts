import { errorInfo } from '../../errors.js';
import { ProviderError, type ProviderErrorDetails } from './provider-error.js';
import { retryAfterMsOf } from './retry-after.js';

/** Any failure of a call as a {@link ProviderError}, with `secret` struck out of its message. */
export function toProviderError(thrown: unknown, provider: string, secret: string | undefined): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  const failure = readFailure(thrown);
  const { statusCode, message, requestId, headers, body } = failure;
  const isAnswer = statusCode !== undefined && statusCode >= 400;
  const systemError = isAnswer ? undefined : findSystemError(thrown);
  const retryAfterMs = retryAfterMsOf(headers, body, Date.now());
  const details: ProviderErrorDetails = {
    provider,
    retryable: isRetryable(failure, systemError),
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(requestId !== undefined && { requestId }),
    ...(systemError && { cause: systemError }),
  };
  const what = isAnswer ? `${provider} answered ${statusCode}` : `the call of ${provider} failed`;
  // Cut after the key is struck out: of a key that is cut in two the first half would stay.
  return new ProviderError(strikeOut(`${what}: ${message}`, secret).slice(0, maxMessageLength), details);
}

const maxMessageLength = 1024;

/** What an AI SDK error, an error inside a stream, or anything else says of itself. */
interface Failure {
  readonly message: string;
  readonly statusCode?: number;
  readonly isRetryable: boolean;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The vendor's `error` object. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly requestId?: string;
}

function readFailure(thrown: unknown): Failure {
  const fields = asRecord(thrown);
  const headers = asRecord(fields['responseHeaders']);
  const envelope = asRecord(parseJson(fields['responseBody']) ?? (thrown instanceof Error ? undefined : thrown));
  const body = 'error' in envelope ? asRecord(envelope['error']) : envelope;
  const requestId = headers['x-request-id'] ?? headers['request-id'] ?? envelope['request_id'];
  const said = thrown instanceof Error && thrown.message !== '' ? thrown.message : body['message'];
  return {
    message: typeof said === 'string' && said !== '' ? said : 'no reason given',
    isRetryable: fields['isRetryable'] === true,
    headers,
    body,
    ...(typeof fields['statusCode'] === 'number' && { statusCode: fields['statusCode'] }),
    ...(typeof requestId === 'string' && { requestId }),
  };
}

const retryableStatus: readonly number[] = [408, 409, 429];

// Errors inside a stream that began well have no status, but a name.
const retryableNames = /overloaded|rate_limit|server_error|api_error|timeout|unavailable/i;

function isRetryable({ statusCode, isRetryable, body }: Failure, systemError: Error | undefined): boolean {
  const names = [body['code'], body['type'], body['status']].filter((name) => typeof name === 'string');
  if (names.includes('insufficient_quota')) return false;
  if (statusCode !== undefined && statusCode >= 400) return retryableStatus.includes(statusCode) || statusCode >= 500;
  // The vendor package counts all that kept a call from being answered as passing: a certificate that has expired, too.
  if (systemError !== undefined) return networkCodes.test(errorInfo(systemError).code ?? '');
  return isRetryable || names.some((name) => retryableNames.test(name));
}

/** What a network does that may do better later. Not a wrong address, a wrong argument or a wrong certificate. */
const networkCodes =
  /^(ECONN(RESET|REFUSED|ABORTED)|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|ENETRESET|UND_ERR_(SOCKET|(CONNECT|HEADERS|BODY)_TIMEOUT))$/;

/** The first of the causes that Node gave a code, such as `ECONNREFUSED` or `ERR_INVALID_URL`. */
function findSystemError(thrown: unknown): Error | undefined {
  let error: unknown = thrown;
  for (let depth = 0; depth < 8 && error instanceof Error; depth++) {
    if (errorInfo(error).code !== undefined) return error;
    error = error.cause;
  }
  return undefined;
}

function strikeOut(message: string, secret: string | undefined): string {
  return secret === undefined ? message : message.replaceAll(secret, '[apiKey]');
}

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page: the status says enough.
    return undefined;
  }
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  // Any object can be asked for any key.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
