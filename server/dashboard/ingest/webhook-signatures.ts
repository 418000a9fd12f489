import { createHmac, timingSafeEqual } from 'node:crypto';
import { OptionChecker } from '../../options.js';

/** Request whose signature is verified. */
export interface SignedRequest {
  /** Body as it arrived. */
  readonly body: Buffer;
  /** Returns a header. @param name in lower case */
  header(name: string): string | undefined;
  /** Current time in epoch milliseconds. */
  readonly now: number;
}

/** Result of a {@link SignatureCheck} that accepts a request. */
export interface SignedDelivery {
  /** Id of the delivery, the same if the sender repeats it: deduplicates its event. */
  readonly id?: string | undefined;
}

/** Returns the delivery of a request with a valid signature, and `null` for any other. */
export type SignatureCheck = (request: SignedRequest) => SignedDelivery | null | Promise<SignedDelivery | null>;

/** Options of {@link verifyGitHub}. */
export interface SignatureOptions {
  /** Secret of the webhook, or several while it is rotated. */
  secret: string | readonly string[];
}

/** Options of {@link verifyStripe} and {@link verifyStandardWebhooks}. */
export interface TimedSignatureOptions extends SignatureOptions {
  /** Maximum difference between the signed time and that of the hub, in milliseconds. @default 300_000 (5 minutes) */
  toleranceMs?: number;
}

/**
 * Verifies the signatures of Stripe (`Stripe-Signature`, scheme `v1`). The id of the delivery is that of the event.
 *
 * @example
 * ```ts
 * createIngestHandler(hub, { types: ['stripe.event'], verify: verifyStripe({ secret }), authorize: () => true });
 * ```
 * @throws {InvalidOptionError} if the secret is empty, such as an environment variable that is not set. It never names it
 * @see https://docs.stripe.com/webhooks/signature
 */
export function verifyStripe(options: TimedSignatureOptions): SignatureCheck {
  const { secrets, toleranceMs } = resolve(options, 'verifyStripe', true);
  const keys = secrets.map((secret) => Buffer.from(secret));
  return ({ body, header, now }) => {
    const parts = (header('stripe-signature') ?? '').split(',').map((part) => part.trim().split('='));
    const at = parts.find(([name]) => name === 't')?.[1] ?? '';
    if (!isRecent(at, now, toleranceMs)) return null;
    const signatures = parts.flatMap(([name, value]) => (name === 'v1' && value !== undefined ? [value] : []));
    const isValid = isSigned(keys, [`${at}.`, body], 'hex', signatures);
    return isValid ? { id: idIn(body) } : null;
  };
}

/**
 * Verifies the signatures of GitHub (`X-Hub-Signature-256`). The id of the delivery is `X-GitHub-Delivery`, which the
 * signature does not cover.
 *
 * @throws {InvalidOptionError} if the secret is empty. It never names it
 * @see https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
 */
export function verifyGitHub(options: SignatureOptions): SignatureCheck {
  const keys = resolve(options, 'verifyGitHub', false).secrets.map((secret) => Buffer.from(secret));
  return ({ body, header }) => {
    const [, signature] = /^sha256=([0-9a-f]{64})$/.exec(header('x-hub-signature-256') ?? '') ?? [];
    if (signature === undefined || !isSigned(keys, [body], 'hex', [signature])) return null;
    return { id: header('x-github-delivery') };
  };
}

/**
 * Verifies signatures of the specification Standard Webhooks with a symmetric key (`v1`), which Svix and its customers use
 * too: headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, or the same with `svix-`.
 *
 * @param options `secret`: base64, with or without the prefix `whsec_`
 * @throws {InvalidOptionError} if the secret is not base64 of 16 bytes or more. It never names it
 * @see https://www.standardwebhooks.com
 */
export function verifyStandardWebhooks(options: TimedSignatureOptions): SignatureCheck {
  const { secrets, toleranceMs, check } = resolve(options, 'verifyStandardWebhooks', true);
  const keys = secrets.map((secret) => {
    const text = secret.replace(/^whsec_/, '');
    const key = Buffer.from(text, 'base64');
    const isKey = /^[A-Za-z0-9+/]+={0,2}$/.test(text) && key.length >= 16;
    check.that(isKey, 'secret', 'base64 of 16 bytes or more, such as whsec_...', secret);
    return key;
  });
  return ({ body, header, now }) => {
    const [id, at, signed] = ['id', 'timestamp', 'signature'].map(
      (name) => header(`webhook-${name}`) ?? header(`svix-${name}`) ?? '',
    );
    if (id === undefined || id === '' || !isRecent(at, now, toleranceMs)) return null;
    const signatures = (signed ?? '').split(' ').flatMap((each) => (each.startsWith('v1,') ? [each.slice(3)] : []));
    return isSigned(keys, [`${id}.${at}.`, body], 'base64', signatures) ? { id } : null;
  };
}

interface ResolvedSignatureOptions {
  readonly secrets: readonly string[];
  readonly toleranceMs: number;
  readonly check: OptionChecker;
}

function resolve(options: TimedSignatureOptions, owner: string, isTimed: boolean): ResolvedSignatureOptions {
  const names = isTimed ? ['secret', 'toleranceMs'] : ['secret'];
  const check = new OptionChecker(options, names, owner, undefined, 'type');
  const { secret, toleranceMs = 300_000 } = options;
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  const isList = secrets.length > 0 && secrets.every(isText);
  check.that(
    isList,
    'secret',
    'a text, or texts, not empty',
    secrets.find((each) => !isText(each)),
  );
  check.durationMs('toleranceMs', toleranceMs, { min: 1_000 });
  return { secrets: secrets.filter(isText), toleranceMs, check };
}

/** @param at seconds since the epoch */
function isRecent(at: string | undefined, now: number, toleranceMs: number): boolean {
  return at !== undefined && /^\d{1,12}$/.test(at) && Math.abs(now - Number(at) * 1_000) <= toleranceMs;
}

/** Returns `true` if one of the signatures is that of one of the keys, compared in constant time. */
function isSigned(
  keys: readonly Buffer[],
  content: readonly (string | Buffer)[],
  encoding: 'hex' | 'base64',
  signatures: readonly string[],
): boolean {
  const given = signatures.map((signature) => Buffer.from(signature));
  return keys.some((key) => {
    const hmac = createHmac('sha256', key);
    for (const part of content) hmac.update(part);
    const expected = Buffer.from(hmac.digest(encoding));
    return given.some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected));
  });
}

function idIn(body: Buffer): string | undefined {
  try {
    const { id } = Object(JSON.parse(body.toString())) as { readonly id?: unknown };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}
