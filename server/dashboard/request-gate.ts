import type { Hub } from '../hub/hub.js';
import { createLimitedLog, type HostCheck, type LimitedLog, reasonOf, settleWithin, timedOut } from './access-guard.js';
import { checkHub } from './dashboard-core.js';
import { errorResult, failedResult, type JsonResult, jsonResponse } from './json-result.js';
import type { PostedRequest, Respond } from './posted-request.js';

const authorizeTimeout = failedResult(503, 'ERR_AUTHORIZE_TIMEOUT', 'The access check did not answer in time.');
const internalError = failedResult(500, 'ERR_INTERNAL', 'The request failed. The cause is in the log of the hub.');
const unauthorized = failedResult(401, 'ERR_UNAUTHORIZED', 'Nobody is signed in.');
const forbiddenHost = failedResult(403, 'ERR_FORBIDDEN_HOST', 'This handler does not answer requests for this host.');

/** Refuses requests of one handler, and logs each reason at most once per minute. */
export class RequestGate {
  readonly #subject: string;
  readonly #hub: Hub;
  readonly #isAllowedHost: HostCheck;
  readonly #limited: LimitedLog;

  /** @param subject first word of its log lines @throws {InvalidOptionError} if `hub` is not a hub */
  constructor(subject: string, hub: Hub, isAllowedHost: HostCheck) {
    checkHub(hub);
    this.#subject = subject;
    this.#hub = hub;
    this.#isAllowedHost = isAllowedHost;
    this.#limited = createLimitedLog(() => hub.transport.clock.monotonic());
  }

  /** Returns the handler that responds with the result of `handle`, or with that of its error. */
  responder<TAnswer>(handle: (request: PostedRequest<TAnswer>) => Promise<JsonResult>): Respond<TAnswer> {
    return async (request) => jsonResponse(await handle(request).catch((error: unknown) => this.failure(error)));
  }

  refuse(reason: string, result: JsonResult): JsonResult {
    const message = `${this.#subject}: requests refused: ${reason}`;
    this.#limited(reason, (refused) => this.#hub.logger.warn({ refused }, message));
    return result;
  }

  /** Returns the refusal of a host that is not allowed. */
  refuseHost(host: string | undefined): JsonResult | undefined {
    if (this.#isAllowedHost(host)) return undefined;
    return this.refuse('the Host header is not in allowedHosts', forbiddenHost);
  }

  /**
   * Returns the sender's identity, or the refusal if `authorize` does not allow the request.
   *
   * @param check returns who it is, `null` for nobody. Throws for an answer that `authorize` must not return
   */
  async identify<TAnswer, TIdentity>(
    request: PostedRequest<TAnswer>,
    check: (answer: unknown) => TIdentity | null,
  ): Promise<{ readonly identity: TIdentity } | { readonly refused: JsonResult }> {
    try {
      const answer = await settleWithin(() => request.authorize(), this.#hub.transport.clock);
      if (answer === timedOut) return { refused: this.refuse('authorize did not settle in time', authorizeTimeout) };
      const identity = check(answer);
      return identity === null ? { refused: this.refuse('authorize refused them', unauthorized) } : { identity };
    } catch (error) {
      this.#limited(`authorize: ${reasonOf(error)}`, (refused) =>
        this.#hub.logger.error({ err: error, refused }, `${this.#subject}: authorize failed; the request was denied`),
      );
      return { refused: internalError };
    }
  }

  /** Returns the response to an error, and logs one that is not the client's. */
  failure(error: unknown): JsonResult {
    const result = errorResult(error);
    if (result !== undefined && result.status < 500) return result;
    const message = `${this.#subject}: a request failed`;
    this.#limited(`failed: ${reasonOf(error)}`, (count) => this.#hub.logger.error({ err: error, count }, message));
    return result ?? internalError;
  }
}
