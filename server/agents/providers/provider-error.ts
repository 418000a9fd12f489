import { HubError } from '../../errors.js';
import type { TokenUsage } from '../token-usage.js';

/** What is known of a failed model call. */
export interface ProviderErrorDetails {
  /** Such as `openai.chat`. */
  provider: string;
  /** Status of the HTTP answer, where there was one. */
  statusCode?: number;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** How long the vendor asks to wait, in milliseconds. */
  retryAfterMs?: number;
  /** The vendor's name for the request, to quote to its support. */
  requestId?: string;
  /** What the failed call is known to have cost. */
  usage?: TokenUsage;
  cause?: unknown;
}

/** A model call failed. Holds no key, no header and no request body. */
export class ProviderError extends HubError {
  readonly provider: string;
  declare readonly statusCode?: number;
  readonly retryable: boolean;
  declare readonly retryAfterMs?: number;
  declare readonly requestId?: string;
  declare readonly usage?: TokenUsage;

  constructor(message: string, details: ProviderErrorDetails, code = 'ERR_PROVIDER') {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause });
    const { provider, statusCode, retryable, retryAfterMs, requestId, usage } = details;
    this.provider = provider;
    this.retryable = retryable;
    if (statusCode !== undefined) this.statusCode = statusCode;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (requestId !== undefined) this.requestId = requestId;
    if (usage !== undefined) this.usage = usage;
  }
}

/** The vendor's filter withheld the answer. */
export class ContentFilterError extends ProviderError {
  constructor(provider: string, why: string, usage?: TokenUsage) {
    super(
      `${provider} withheld the answer: ${why}`,
      { provider, retryable: false, ...(usage !== undefined && { usage }) },
      'ERR_CONTENT_FILTER',
    );
  }
}

/** A streamed answer stopped before its end. */
export class CutStreamError extends ProviderError {
  constructor(provider: string, usage?: TokenUsage) {
    super(
      `the answer of ${provider} was cut off: its stream ended without a finish`,
      { provider, retryable: true, ...(usage !== undefined && { usage }) },
      'ERR_CUT_STREAM',
    );
  }
}

/** An API key cannot be one. Thrown where it is given, and never shows it. */
export class InvalidApiKeyError extends HubError {
  constructor(provider: string, got: string) {
    super(
      'ERR_INVALID_API_KEY',
      `apiKey of ${provider} must be a non-empty string of printable ASCII without spaces, got ${got}; check where it is read from`,
    );
  }
}
