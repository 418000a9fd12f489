import { errorInfo } from '../../errors.js';
import { cutText, isRecord, parseJson, recordOf } from '../model/foreign-values.js';
import { CutStreamError, ProviderError, type ProviderErrorDetails } from '../model/provider-error.js';
import { addUsage, isCount, type TokenUsage } from '../model/token-usage.js';

/**
 * Converts any error of a call into a {@link ProviderError}. Its message has the codes of the vendor and of the system;
 * the vendor's text may quote the prompt, and becomes `vendorMessage`, without secrets.
 *
 * @param paused tokens of the answer that the call continues
 */
export function toProviderError(
  thrown: unknown,
  provider: string,
  secrets: readonly string[],
  paused?: TokenUsage,
): ProviderError {
  const own = findCause(thrown, (error) => error instanceof ProviderError);
  if (own !== undefined) return own;
  const cut = cutPartOf(recordOf(thrown));
  if (cut !== undefined) return new CutStreamError(provider, undefined, cut);
  const failure = readFailure(thrown);
  const { statusCode, message, requestId, headers, body } = failure;
  const isAnswer = statusCode !== undefined && statusCode >= 400;
  const systemError = isAnswer ? undefined : findSystemError(thrown);
  const retryAfterMs = retryAfterMsOf(headers, body, Date.now());
  const usage = paused === undefined ? failure.usage : { ...paused };
  if (usage !== undefined && paused !== undefined && failure.usage !== undefined) addUsage(usage, failure.usage);
  const details: ProviderErrorDetails = {
    provider,
    retryable: isRetryable(failure, systemError),
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(requestId !== undefined && { requestId }),
    ...(systemError && { cause: systemError }),
    ...(usage && { usage }),
    // The secret is removed first: truncation could leave a part of it.
    vendorMessage: cutText(redact(message, secrets), maxMessageLength),
  };
  const what = isAnswer ? `${provider} answered ${statusCode}` : `the call of ${provider} failed`;
  const codes = codesOf(failure.body, systemError);
  const named = codes.length === 0 ? what : `${what}: ${codes.join(', ')}`;
  return new ProviderError(redact(`${named}; its vendorMessage has the reason`, secrets), details);
}

/** Returns the codes of a failure, such as `invalid_request_error`, `messages[2].content` or `ECONNREFUSED`. */
function codesOf(body: Readonly<Record<string, unknown>>, systemError: Error | undefined): string[] {
  const codes = [systemError && errorInfo(systemError).code, body['type'], body['status'], body['code'], body['param']];
  // Only what cannot be a text.
  return [...new Set(codes)].filter((code) => typeof code === 'string' && /^[\w.[\]-]{1,64}$/.test(code)).map(String);
}

const maxMessageLength = 1024;

/** Data of an AI SDK error, of an error in a stream, or of any other thrown value. */
interface Failure {
  readonly message: string;
  readonly statusCode?: number;
  readonly isRetryable: boolean;
  readonly headers: Readonly<Record<string, unknown>>;
  /** `error` object of the vendor's response. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly requestId?: string;
  /** Tokens of an answer that the package cannot read. */
  readonly usage?: TokenUsage | undefined;
}

function readFailure(thrown: unknown): Failure {
  const fields = recordOf(thrown);
  const headers = recordOf(fields['responseHeaders']);
  const { responseBody } = fields;
  const parsed = isRecord(responseBody) ? responseBody : parseJson(responseBody);
  const response = parsed ?? (thrown instanceof Error ? undefined : thrown);
  // Google's compatible API answers with a list of one error.
  const outer = recordOf(Array.isArray(response) ? response[0] : response);
  // The event of OpenAI's Responses about an answer that failed.
  const envelope = outer['type'] === 'response.failed' ? recordOf(outer['response']) : outer;
  const body = 'error' in envelope ? recordOf(envelope['error']) : envelope;
  const requestId = headers['x-request-id'] ?? headers['request-id'] ?? envelope['request_id'];
  // For a failure that an answer or a stream with status 200 reports, the package invents a status.
  const isInAnswer = !(thrown instanceof Error) || isRecord(responseBody) || 'sequence_number' in outer;
  // A package whose schema does not match the vendor's answer reports the status instead of the text.
  const own = thrown instanceof Error ? thrown.message : undefined;
  const text = typeof body['message'] === 'string' && body['message'] !== '' ? body['message'] : own;
  return {
    message: typeof text === 'string' && text !== '' ? text : 'no reason given',
    isRetryable: fields['isRetryable'] === true,
    headers,
    body,
    ...(typeof fields['statusCode'] === 'number' && !isInAnswer && { statusCode: fields['statusCode'] }),
    ...(typeof requestId === 'string' && { requestId }),
    // The package that finds no choice in an answer has its body as `data`.
    usage: usageOfBody(envelope) ?? usageOfBody(recordOf(fields['data'])),
  };
}

/**
 * Returns the part of the response that is incomplete, if the vendor began its answer: it is paid, and a retry may
 * receive the whole one.
 */
function cutPartOf(error: Readonly<Record<string, unknown>>): 'stream' | 'JSON' | undefined {
  const { name, statusCode, responseBody, data } = error;
  // The error of `@ai-sdk/openai-compatible` after a stream without a finish reason has no data.
  if (name === 'AI_InvalidResponseDataError' && 'data' in error && !data) return 'stream';
  // An event of a stream. The error about the JSON of a response is the cause of another one.
  if (name === 'AI_JSONParseError') return 'JSON';
  const isAnswer = typeof statusCode === 'number' && statusCode >= 200 && statusCode < 300;
  if (!isAnswer) return undefined;
  if (typeof responseBody !== 'string') return findSystemError(error['cause']) && 'stream';
  return responseBody.trimStart().startsWith('{') && parseJson(responseBody) === undefined ? 'JSON' : undefined;
}

const retryableStatus: readonly number[] = [408, 409, 429];

// An error in a stream has no status, only a name.
const retryableNames = /overloaded|rate_limit|server_error|api_error|timeout|unavailable/i;

function isRetryable({ statusCode, isRetryable, body }: Failure, systemError: Error | undefined): boolean {
  const names = [body['code'], body['type'], body['status']].filter((name) => typeof name === 'string');
  if (names.includes('insufficient_quota')) return false;
  // Proxies send the status of another server in the body of an answer with status 200.
  const status = statusCode !== undefined && statusCode >= 400 ? statusCode : Number(body['code']);
  if (status >= 400 && status < 600) return retryableStatus.includes(status) || status >= 500;
  // The vendor package marks every failed connection as retryable, even after a certificate has expired.
  if (systemError !== undefined) return networkCodes.test(errorInfo(systemError).code ?? '');
  return isRetryable || names.some((name) => retryableNames.test(name));
}

/** Network errors that a retry may resolve: not a wrong address, argument or certificate. */
const networkCodes =
  /^(ECONN(RESET|REFUSED|ABORTED)|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|E(HOST|NET)(UNREACH|DOWN)|ENETRESET|UND_ERR_(SOCKET|(CONNECT|HEADERS|BODY)_TIMEOUT))$/;

/** Returns the first cause with a code from Node, such as `ECONNREFUSED` or `ERR_INVALID_URL`. */
function findSystemError(thrown: unknown): Error | undefined {
  return findCause(thrown, (error): error is Error => errorInfo(error).code !== undefined);
}

/** Returns the first of an error and its causes that matches. A package wraps what its `fetch` throws. */
function findCause<T extends Error>(thrown: unknown, matches: (error: Error) => error is T): T | undefined {
  let error: unknown = thrown;
  for (let depth = 0; depth < 8 && error instanceof Error; depth++) {
    if (matches(error)) return error;
    error = error.cause;
  }
  return undefined;
}

/** Keys of vendors, and values of an Authorization header. */
const keyForms = /\b(?:sk|pk|rk|gsk|xai|key|api)[-_][\w-]{8,}|\bAIza[\w-]{16,}|\b(?:Bearer|Basic) +[\w.~+/=-]{8,}/g;

function redact(message: string, secrets: readonly string[]): string {
  const known = secrets.reduce((text, secret) => text.replaceAll(secret, '[apiKey]'), message);
  return known.replace(keyForms, '[apiKey]');
}

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
    const { '@type': type, retryDelay } = recordOf(detail);
    if (typeof type !== 'string' || !type.endsWith('google.rpc.RetryInfo')) continue;
    const seconds = typeof retryDelay === 'string' ? toNumber(/^(.*)s$/.exec(retryDelay)?.[1]) : undefined;
    if (seconds !== undefined) return seconds * 1000;
  }
  return undefined;
}

function toNumber(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
}

/** Fields of the vendors' usage: tokens of the prompt and of the answer. */
const fields: readonly (readonly [prompt: string, completion: string])[] = [
  ['prompt_tokens', 'completion_tokens'],
  ['input_tokens', 'output_tokens'],
  ['promptTokenCount', 'candidatesTokenCount'],
];

/** Returns the usage in the body of a response that cannot be read as an answer, or `undefined` if it has none. */
function usageOfBody(body: Readonly<Record<string, unknown>>): TokenUsage | undefined {
  const counts = recordOf(body['usage'] ?? body['usageMetadata']);
  for (const [prompt, completion] of fields) {
    const promptTokens = counts[prompt];
    const completionTokens = counts[completion] ?? 0;
    if (isCount(promptTokens) && isCount(completionTokens)) {
      return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
    }
  }
  return undefined;
}
