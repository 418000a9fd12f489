import { HubError, quote } from '../../errors.js';
import type { MediaPart } from './part.js';
import type { TokenUsage } from './token-usage.js';

/** Details of a failed model call. */
export interface ProviderErrorDetails {
  /** Name of the provider, such as `openai.chat`. */
  provider: string;
  /** Status of the HTTP response, if there was one. */
  statusCode?: number;
  /** `true` if the same call may succeed later. */
  retryable: boolean;
  /** Delay that the vendor requests before the next call, in milliseconds. */
  retryAfterMs?: number;
  /** Vendor's id of the request, for its support. */
  requestId?: string;
  /** Text of the vendor's error, without secrets. It may quote the prompt. */
  vendorMessage?: string;
  /** Tokens that the vendor reported for the failed call. */
  usage?: TokenUsage;
  cause?: unknown;
}

/**
 * A model call failed. Contains no API key, header or request body. `message` has the vendor's codes only;
 * `vendorMessage` has its text.
 */
export class ProviderError extends HubError {
  readonly provider: string;
  declare readonly statusCode?: number;
  readonly retryable: boolean;
  declare readonly retryAfterMs?: number;
  declare readonly requestId?: string;
  declare readonly usage?: TokenUsage;
  /** Text of the vendor's error. Not enumerable and not in `message`, because it may quote the prompt. */
  declare readonly vendorMessage?: string;

  constructor(message: string, details: ProviderErrorDetails, code = 'ERR_PROVIDER') {
    super(code, message, {
      ...(details.cause !== undefined && { cause: details.cause }),
      publicMessage: publicMessageOf(message, details, code),
    });
    const { provider, statusCode, retryable, retryAfterMs, requestId, usage, vendorMessage } = details;
    this.provider = provider;
    this.retryable = retryable;
    if (statusCode !== undefined) this.statusCode = statusCode;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (requestId !== undefined) this.requestId = requestId;
    if (usage !== undefined) this.usage = usage;
    if (vendorMessage !== undefined) Object.defineProperty(this, 'vendorMessage', { value: vendorMessage });
  }
}

// A vendor's text may quote the prompt.
function publicMessageOf(message: string, { provider, statusCode }: ProviderErrorDetails, code: string): string {
  if (code === 'ERR_CONTENT_FILTER') return `${provider} withheld the answer`;
  if (code !== 'ERR_PROVIDER') return message;
  return statusCode === undefined ? `the call of ${provider} failed` : `${provider} answered ${statusCode}`;
}

/** The vendor's content filter withheld the answer, or the rest of it. */
export class ContentFilterError extends ProviderError {
  constructor(provider: string, why: string, usage?: TokenUsage) {
    super(
      `${provider} withheld the answer: ${why}`,
      { provider, retryable: false, ...(usage !== undefined && { usage }) },
      'ERR_CONTENT_FILTER',
    );
  }
}

/**
 * The vendor or its model cannot take an image, a piece of audio or a file of the conversation. The call was not made.
 * The next provider of a {@link fallbackProvider} is asked instead.
 */
export class UnsupportedPartError extends ProviderError {
  /** Media type of the part. */
  readonly mediaType: string;

  /** @param wayOut advice after the message */
  constructor(provider: string, { type, mediaType }: Pick<MediaPart, 'type' | 'mediaType'>, wayOut: string) {
    super(
      `${provider} cannot take a part of type ${quote(type)} with media type ${quote(mediaType)}; ${wayOut}`,
      { provider, retryable: false },
      'ERR_UNSUPPORTED_PART',
    );
    this.mediaType = mediaType;
  }
}

/** A model call exceeded its `timeoutMs`. Reason of the call's signal. */
export class ModelTimeoutError extends ProviderError {
  constructor(provider: string, timeoutMs: number) {
    super(
      `${provider} did not answer within timeoutMs of the model (${timeoutMs} ms)`,
      { provider, retryable: true },
      'ERR_MODEL_TIMEOUT',
    );
  }
}

/** A streamed answer ended without a finish reason, or the JSON of an answer ended early. */
export class CutStreamError extends ProviderError {
  /** @param part part of the response that is cut */
  constructor(provider: string, usage?: TokenUsage, part: 'stream' | 'JSON' = 'stream') {
    super(
      part === 'JSON'
        ? `the JSON of ${provider} ended early, so the answer is incomplete`
        : `the stream of ${provider} ended without a finish reason, so the answer may be incomplete`,
      { provider, retryable: true, ...(usage !== undefined && { usage }) },
      'ERR_CUT_STREAM',
    );
  }
}

/** The response of a vendor exceeded the limit of what is read of one, so its answer is lost. */
export class OversizedResponseError extends ProviderError {
  constructor(provider: string, maxBytes: number) {
    super(
      `the response of ${provider} is longer than ${maxBytes / 1024 / 1024} MiB, the limit of one call; check baseUrl, or set maxTokens of the model`,
      { provider, retryable: false },
      'ERR_OVERSIZED_RESPONSE',
    );
  }
}

/** An API key is malformed. The message never contains the key. */
export class InvalidApiKeyError extends HubError {
  constructor(provider: string, got: string) {
    super(
      'ERR_INVALID_API_KEY',
      `apiKey of ${provider} must be a non-empty string of printable ASCII without spaces, got ${got}; check the environment variable or file that it is read from`,
    );
  }
}
