import { errorInfo } from '../../errors.js';
import type { Logger } from '../../transports/logger.js';
import type { Delivery, Envelope, Outcome, TransportManager } from '../../transports/transport.js';
import { DepthLimitError } from '../errors.js';
import type { Emit } from './emit.js';
import { type Ending, type FollowUpNames, followUps } from './follow-ups.js';
import { nextDelayMs, type ResolvedRetry } from './retry-policy.js';

/** What running a delivery needs of the hub. */
export interface DeliveryHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  emitFrom(cause: Envelope): Emit;
}

/** A chain of events that cause events ends after so many. */
const maxDepth = 64;

/** Why a delivery must not be run at all. */
export function refusalOf(name: string, { refusal, envelope: { depth } }: Delivery): Error | undefined {
  return refusal ?? (depth > maxDepth ? new DepthLimitError(name, depth, maxDepth) : undefined);
}

/** Commits how a delivery ended, and logs what reaches no caller. */
export class Conclusion {
  readonly #kind: 'event' | 'workflow';
  readonly #name: string;
  readonly #followUps: FollowUpNames;
  readonly #delivery: Delivery;
  readonly #host: DeliveryHost;
  readonly #startedAt: number;

  constructor(
    kind: 'event' | 'workflow',
    name: string,
    followUpNames: FollowUpNames,
    delivery: Delivery,
    host: DeliveryHost,
  ) {
    this.#kind = kind;
    this.#name = name;
    this.#followUps = followUpNames;
    this.#delivery = delivery;
    this.#host = host;
    this.#startedAt = host.transport.clock.monotonic();
  }

  /** @param result JSON */
  complete(result: string): void {
    this.#end({ status: 'completed', result });
  }

  /** Schedules another attempt where the policy has one left, or gives up. */
  fail(error: unknown, retry: ResolvedRetry | undefined, attempt: number): void {
    const delayMs = this.#nextDelayMs(error, retry, attempt);
    if (delayMs === undefined) {
      this.giveUp(error);
      return;
    }
    this.#commit({ status: 'retry', durationMs: this.#durationMs(), delayMs, thrown: error });
    this.#host.logger.warn({ ...this.#logFields(error), delayMs }, 'attempt failed');
  }

  giveUp(error: unknown): void {
    this.#end({ status: 'failed', error: errorInfo(error) }, error);
    this.#host.logger.error(this.#logFields(error), `${this.#kind} failed`);
  }

  #nextDelayMs(error: unknown, retry: ResolvedRetry | undefined, attempt: number): number | undefined {
    try {
      return nextDelayMs(retry, attempt, error);
    } catch (retryIfError) {
      this.#host.logger.error(this.#logFields(retryIfError), 'retryIf threw: no retry');
      return undefined;
    }
  }

  #end(ending: Ending, thrown?: unknown): void {
    const { envelope } = this.#delivery;
    // Past the depth limit a follow-up would be deeper still.
    const following = envelope.depth > maxDepth ? [] : followUps(this.#followUps, envelope, ending);
    const durationMs = this.#durationMs();
    if (ending.status === 'failed') {
      this.#commit({ status: 'failed', error: ending.error, durationMs, followUps: following, thrown });
    } else {
      this.#commit({ status: 'completed', result: ending.result, durationMs, followUps: following });
    }
  }

  #durationMs(): number {
    return this.#host.transport.clock.monotonic() - this.#startedAt;
  }

  #commit(outcome: Outcome): void {
    this.#delivery.commit(outcome).catch((error: unknown) => {
      this.#host.logger.error(this.#logFields(error), 'outcome could not be recorded');
    });
  }

  #logFields(err: unknown): object {
    const { envelope, attempt } = this.#delivery;
    return this.#kind === 'event'
      ? { err, eventType: this.#name, eventId: envelope.id, attempt }
      : { err, workflow: this.#name, runId: envelope.id, attempt };
  }
}
