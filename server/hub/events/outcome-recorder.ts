import type { Redactor } from '../../redactor.js';
import type { Logger } from '../../transports/logger.js';
import type { Delivery, Envelope, Outcome, TransportManager } from '../../transports/transport.js';
import { DepthLimitError } from '../errors.js';
import type { Emit } from './emit.js';
import { createFollowUps, type FollowUpNames, type TerminalOutcome } from './follow-ups.js';
import { nextDelayMs, type ResolvedRetry } from './retry-policy.js';

/** The part of the hub that handling a delivery needs. */
export interface HandlerHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  readonly redactor: Redactor;
  /** Returns an `emit` whose events are caused by `cause`. */
  emitFrom(cause: Envelope): Emit;
}

/** Maximum depth of a causal chain of events. */
const maxDepth = 64;

/** Returns the error of a delivery that must fail without a call of its handler, such as a poison event. */
export function preflightError(name: string, { refusal, envelope: { depth } }: Delivery): Error | undefined {
  return refusal ?? (depth > maxDepth ? new DepthLimitError(name, depth, maxDepth) : undefined);
}

/** Commits the outcome of a delivery and logs its failure. */
export class OutcomeRecorder {
  readonly #kind: 'event' | 'workflow';
  readonly #name: string;
  readonly #followUps: FollowUpNames;
  readonly #delivery: Delivery;
  readonly #host: HandlerHost;
  readonly #startedAt: number;

  constructor(
    kind: 'event' | 'workflow',
    name: string,
    followUpNames: FollowUpNames,
    delivery: Delivery,
    host: HandlerHost,
  ) {
    this.#kind = kind;
    this.#name = name;
    this.#followUps = followUpNames;
    this.#delivery = delivery;
    this.#host = host;
    this.#startedAt = host.transport.clock.monotonic();
  }

  /** Records success. @param result JSON */
  complete(result: string): void {
    this.#end({ status: 'completed', result });
  }

  /** Schedules a retry if the policy allows one, otherwise records terminal failure. */
  retryOrFail(error: unknown, retry: ResolvedRetry | undefined, attempt: number): void {
    const delayMs = this.#nextDelayMs(error, retry, attempt);
    if (delayMs === undefined) {
      this.fail(error);
      return;
    }
    this.#commit({ status: 'retry', durationMs: this.#durationMs(), delayMs, thrown: error });
    this.#host.logger.warn({ ...this.#logFields(error), delayMs }, 'attempt failed');
  }

  /** Records terminal failure. */
  fail(error: unknown): void {
    this.#end({ status: 'failed', error: this.#host.redactor.info(error) }, error);
    this.#host.logger.error(this.#logFields(error), `${this.#kind} failed`);
  }

  /** Records terminal failure of an event whose stored payload cannot be read. Its follow-ups get `null` instead. */
  failUnreadable(error: unknown): void {
    this.#end({ status: 'failed', error: this.#host.redactor.info(error) }, error, 'null');
    this.#host.logger.error(this.#logFields(error), `${this.#kind} failed`);
  }

  #nextDelayMs(error: unknown, retry: ResolvedRetry | undefined, attempt: number): number | undefined {
    try {
      return nextDelayMs(retry, attempt, error);
    } catch (retryIfError) {
      this.#host.logger.error(this.#logFields(retryIfError), 'retryIf threw, so the failure is terminal');
      return undefined;
    }
  }

  #end(end: TerminalOutcome, thrown?: unknown, body: string = this.#delivery.envelope.body): void {
    const { envelope } = this.#delivery;
    // Follow-ups of an event over the depth limit would be over it too.
    const followUps =
      envelope.depth > maxDepth
        ? []
        : createFollowUps(this.#followUps, body === envelope.body ? envelope : { ...envelope, body }, end);
    const durationMs = this.#durationMs();
    if (end.status === 'failed') {
      this.#commit({ status: 'failed', error: end.error, durationMs, followUps, thrown });
    } else {
      this.#commit({ status: 'completed', result: end.result, durationMs, followUps });
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
