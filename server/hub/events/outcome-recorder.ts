import { type ErrorInfo, HubError } from '../../errors.js';
import type { CommitResult, CompletedOutcome, Delivery, Envelope, Outcome } from '../../transports/delivery.js';
import { DepthLimitError } from '../errors.js';
import type { HandlerHost } from './attempt-ctx.js';
import { createFollowUps, type Failure, type FollowUpNames, failedEvent, type TerminalOutcome } from './follow-ups.js';
import { nextDelayMs, type ResolvedRetry } from './retry-policy.js';

/** Maximum depth of a causal chain of events. */
export const maxDepth = 64;

/** Returns the error of a delivery that must fail without a call of its handler, such as a poison event. */
export function preflightError(name: string, { refusal, envelope: { depth } }: Delivery): Error | undefined {
  return refusal ?? (depth > maxDepth ? new DepthLimitError(name, depth, maxDepth) : undefined);
}

/** Functions of the user that a delivery called. */
export interface CalledFunctions {
  /** Resolves when those that ran on after their timeout or abort have returned; `undefined` if there are none. */
  readonly unfinished: Promise<void> | undefined;
  /** Stores live output that is buffered. Returns `undefined` if there is none. Never rejects. */
  flushOutput(): Promise<void> | undefined;
}

/** Commits the outcome of a delivery and logs its failure. */
export class OutcomeRecorder {
  readonly #kind: 'event' | 'workflow';
  readonly #name: string;
  readonly #followUps: FollowUpNames;
  readonly #delivery: Delivery;
  readonly #host: HandlerHost;
  #startedAt: number;
  readonly #functions: CalledFunctions;
  /** Step that failed, of a run. */
  #step: string | undefined;
  #attempt: number;

  constructor(
    kind: 'event' | 'workflow',
    name: string,
    followUpNames: FollowUpNames,
    delivery: Delivery,
    host: HandlerHost,
    functions: CalledFunctions,
  ) {
    this.#kind = kind;
    this.#name = name;
    this.#followUps = followUpNames;
    this.#delivery = delivery;
    this.#host = host;
    this.#functions = functions;
    this.#attempt = delivery.attempt;
    this.#startedAt = host.transport.clock.monotonic();
  }

  /** Notes that the handler starts, later than the attempt. */
  begin(): void {
    this.#startedAt = this.#host.transport.clock.monotonic();
  }

  /** Records success. @param result JSON @param emits events accepted with the outcome */
  complete(result: string, emits: readonly Envelope[] = []): void {
    this.#end({ status: 'completed', result }, undefined, emits);
  }

  /** Records that the condition of the service refused the event. */
  filter(): void {
    this.#commit({ status: 'completed', filtered: true, durationMs: this.#durationMs(), followUps: [] });
  }

  /** Returns a success that a transaction records. @param result JSON @param emits events accepted with the outcome */
  async success(result: string, emits: readonly Envelope[]): Promise<CompletedOutcome> {
    const durationMs = this.#durationMs();
    const prepared = await this.#prepareFollowUps({ status: 'completed', result }, this.#delivery.envelope);
    return { status: 'completed', result, durationMs, followUps: [...emits, ...prepared] };
  }

  /** Logs an error that cannot change the outcome any more. */
  logLate(error: unknown): void {
    this.#host.logger.error(this.#logFields(error), 'the handler threw after its transaction had ended the attempt');
  }

  /** Suspends a run that knows `seen` recorded entries. */
  suspend(seen: number): void {
    this.#commit({ status: 'suspended', durationMs: this.#durationMs(), seen });
  }

  /** Returns a run to the transport without spending an attempt. */
  release(delayMs: number, version: number | undefined): void {
    const needs = version === undefined ? {} : { version };
    this.#commit({ status: 'released', durationMs: this.#durationMs(), delayMs, ...needs });
  }

  /** Schedules a retry if the policy allows one, otherwise records terminal failure. */
  retryOrFail(error: unknown, retry: ResolvedRetry | undefined, attempt: number): void {
    const delayMs = this.#nextDelayMs(error, retry, attempt);
    if (delayMs instanceof Promise) void delayMs.then((ms) => this.#retryAfter(ms, error));
    else this.#retryAfter(delayMs, error);
  }

  #retryAfter(delayMs: number | undefined, error: unknown): void {
    if (delayMs === undefined) {
      this.fail(error);
      return;
    }
    const info = this.#host.redactor.info(error);
    this.#commit({ status: 'retry', durationMs: this.#durationMs(), delayMs, error: info, thrown: error });
    this.#host.logger.warn({ ...this.#logFields(error), delayMs }, 'attempt failed');
  }

  /**
   * Records terminal failure.
   *
   * @param info recorded error, if it differs from the thrown one
   * @param step step that failed, if the error does not name it
   * @param attempt attempt at the step
   */
  fail(
    error: unknown,
    info: ErrorInfo = this.#host.redactor.info(error),
    step: string | undefined = stepOf(error),
    attempt: number = this.#delivery.attempt,
  ): void {
    this.#step = step;
    this.#attempt = attempt;
    this.#end({ status: 'failed', error: info, attempt, ...this.#failedStep }, error);
    this.#host.logger.error(this.#logFields(error), `${this.#kind} failed`);
  }

  /** Records terminal failure of an event whose stored payload cannot be read. Its follow-ups get `null` instead. */
  failUnreadable(error: unknown): void {
    const envelope = { ...this.#delivery.envelope, body: 'null' };
    const info = this.#host.redactor.info(error);
    this.#end({ status: 'failed', error: info, attempt: this.#attempt }, error, [], envelope);
    this.#host.logger.error(this.#logFields(error), `${this.#kind} failed`);
  }

  #nextDelayMs(error: unknown, retry: ResolvedRetry | undefined, attempt: number): ReturnType<typeof nextDelayMs> {
    const logAndFail = (retryIfError: unknown): undefined => {
      this.#host.logger.error(this.#logFields(retryIfError), 'retryIf threw, so the failure is terminal');
    };
    try {
      const delayMs = nextDelayMs(retry, attempt, error);
      return delayMs instanceof Promise ? delayMs.catch(logAndFail) : delayMs;
    } catch (retryIfError) {
      return logAndFail(retryIfError);
    }
  }

  #end(
    end: TerminalOutcome,
    thrown?: unknown,
    emits: readonly Envelope[] = [],
    envelope: Envelope = this.#delivery.envelope,
  ): void {
    const durationMs = this.#durationMs();
    const prepared = this.#prepareFollowUps(end, envelope);
    if (prepared instanceof Promise) void this.#commitWhenReady(end, durationMs, thrown, emits, prepared);
    else this.#commitEnd(end, durationMs, thrown, emits, prepared);
  }

  #prepareFollowUps(end: TerminalOutcome, envelope: Envelope): readonly Envelope[] | Promise<readonly Envelope[]> {
    // Follow-ups of an event over the depth limit would be over it too.
    const { service } = this.#host.transport;
    const ending = envelope.depth > maxDepth ? [] : createFollowUps(service, this.#followUps, envelope, end);
    return this.#host.publisher.prepareFollowUps(ending);
  }

  async #commitWhenReady(
    end: TerminalOutcome,
    durationMs: number,
    thrown: unknown,
    emits: readonly Envelope[],
    prepared: Promise<readonly Envelope[]>,
  ): Promise<void> {
    this.#commitEnd(end, durationMs, thrown, emits, await prepared);
  }

  #commitEnd(
    end: TerminalOutcome,
    durationMs: number,
    thrown: unknown,
    emits: readonly Envelope[],
    prepared: readonly Envelope[],
  ): void {
    const followUps = emits.length === 0 ? prepared : [...emits, ...prepared];
    if (end.status === 'failed') {
      this.#commit({ status: 'failed', error: end.error, durationMs, followUps, thrown, ...this.#failedStep });
    } else {
      this.#commit({ status: 'completed', result: end.result, durationMs, followUps });
    }
  }

  #durationMs(): number {
    return this.#host.transport.clock.monotonic() - this.#startedAt;
  }

  #failure(error: unknown): Failure {
    const attempt = this.#attempt;
    const { service } = this.#host.transport;
    return { ...failedEvent(service, this.#delivery.envelope, { attempt, ...this.#failedStep }), attempt, error };
  }

  #commit(outcome: Outcome): void {
    const flushed = this.#functions.flushOutput();
    if (flushed === undefined) this.#commitNow(outcome);
    else void flushed.then(() => this.#commitNow(outcome));
  }

  #commitNow(outcome: Outcome): void {
    try {
      const committed = this.#delivery.commit(outcome, this.#functions.unfinished);
      const hasError = 'error' in outcome;
      if (committed instanceof Promise) {
        const counted = hasError ? committed.then((result) => this.#count(outcome, result)) : committed;
        counted.catch((error: unknown) => this.#logUnrecorded(error));
      } else if (hasError) this.#count(outcome, committed);
    } catch (error) {
      this.#logUnrecorded(error);
    }
  }

  /** Counts a recorded failure by its error, and passes a terminal one on. */
  #count({ status, error, thrown }: Extract<Outcome, { readonly error: ErrorInfo }>, result: CommitResult): void {
    if (result !== 'ok') return;
    const { envelope, attempt } = this.#delivery;
    const { id, requestId, type } = envelope;
    const at = this.#host.transport.clock.now();
    const isTerminal = status === 'failed';
    const step = this.#failedStep;
    // The attempts of a workflow's steps count themselves.
    const isCounted = step.step !== undefined && this.#kind === 'workflow';
    this.#host.errors.count({ type, id, requestId, at, attempt, ...step, error, isTerminal, isCounted });
    if (isTerminal) this.#host.onFailure?.(this.#failure(thrown));
  }

  #logUnrecorded(error: unknown): void {
    this.#host.logger.error(this.#logFields(error), 'outcome could not be recorded');
  }

  get #failedStep(): { readonly step?: string } {
    return this.#step === undefined ? {} : { step: this.#step };
  }

  #logFields(err: unknown): object {
    const { envelope, attempt } = this.#delivery;
    return this.#kind === 'event'
      ? { err, requestId: envelope.requestId, eventType: this.#name, eventId: envelope.id, attempt }
      : { err, requestId: envelope.requestId, workflow: this.#name, runId: envelope.id, attempt, ...this.#failedStep };
  }
}

/** Returns the step that a failed run's error names. */
function stepOf(thrown: unknown): string | undefined {
  return HubError.is(thrown) && 'step' in thrown && typeof thrown.step === 'string' ? thrown.step : undefined;
}
