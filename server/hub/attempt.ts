import { DepthLimitError, errorInfo, HandlerTimeoutError, SchemaValidationError } from '../errors.js';
import type { Timer } from '../transports/clock.js';
import type { Logger } from '../transports/logger.js';
import type { Delivery, Envelope, Outcome, TransportManager } from '../transports/transport.js';
import type { HandlerFunction } from './context.js';
import type { Emit } from './emit.js';
import type { RegisteredEvent } from './event.js';
import { type Ending, followUps } from './follow-ups.js';
import { HandlerContext } from './handler-context.js';
import { encodePayload } from './payload.js';
import { nextDelayMs } from './retry-policy.js';
import type { SchemaResult } from './schema.js';

const maxDepth = 64;

/** A registered event that has a handler. */
export type HandledEvent = RegisteredEvent & { readonly handler: HandlerFunction };

/** What an attempt needs of the hub that makes it. */
export interface AttemptHost {
  readonly transport: TransportManager;
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
  emitFrom(cause: Envelope): Emit;
}

/** Runs the handler on one delivery and commits what came of it, once, whatever the handler does. */
export class Attempt {
  readonly #event: HandledEvent;
  readonly #delivery: Delivery;
  readonly #host: AttemptHost;
  readonly #startedAt: number;
  #isSettled = false;
  #timeout: Timer | undefined;
  #context: HandlerContext | undefined;

  constructor(event: HandledEvent, delivery: Delivery, host: AttemptHost) {
    this.#event = event;
    this.#delivery = delivery;
    this.#host = host;
    this.#startedAt = host.transport.clock.monotonic();
  }

  run(): void {
    const { type, timeoutMs, schema } = this.#event;
    const { refusal } = this.#delivery;
    const { body, depth } = this.#delivery.envelope;
    if (refusal !== undefined) {
      this.#giveUp(refusal);
      return;
    }
    if (depth > maxDepth) {
      this.#giveUp(new DepthLimitError(type, depth, maxDepth));
      return;
    }
    this.#delivery.onRevoked = (reason) => this.#revoke(reason);
    if (timeoutMs !== undefined) {
      this.#timeout = this.#host.transport.clock.after(timeoutMs, () => this.#expire(timeoutMs));
    }
    const payload: unknown = JSON.parse(body);
    if (schema === undefined) this.#handle(payload);
    else
      this.#settleWith(
        () => schema.validate(payload),
        (result) => this.#handleValid(result),
      );
  }

  #handleValid(result: SchemaResult): void {
    if (this.#isSettled) return;
    if (result.issues === undefined) this.#handle(result.value);
    else this.#giveUp(new SchemaValidationError(this.#event.type, result.issues));
  }

  #handle(payload: unknown): void {
    const { transport, logger } = this.#host;
    const { envelope } = this.#delivery;
    const context = new HandlerContext(
      this.#delivery,
      payload,
      transport.service,
      this.#host.emitFrom(envelope),
      logger,
    );
    this.#context = context;
    this.#settleWith(
      () => this.#event.handler(context),
      (value) => this.#succeed(value),
    );
  }

  /** Calls `next` with what `run` returns or resolves to; at once where it is no promise. */
  #settleWith<T>(run: () => T | PromiseLike<T>, next: (value: T) => void): void {
    try {
      const value = run();
      if (!isThenable(value)) next(value);
      // What is only like a promise may throw, or settle twice; a promise of it does neither.
      else Promise.resolve(value).then(next, (error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  #succeed(value: unknown): void {
    if (this.#isSettled) return;
    const { type, followUps: names } = this.#event;
    let result = 'null';
    if (value !== undefined && (names.onSuccess !== undefined || names.onComplete !== undefined)) {
      try {
        result = encodePayload(value, type, this.#host.maxPayloadBytes, 'result');
      } catch (error) {
        // Run again, the handler would do its work again and return the same.
        this.#giveUp(error);
        return;
      }
    }
    this.#end({ status: 'completed', result });
  }

  #fail(error: unknown): void {
    if (this.#isSettled) return;
    const delayMs = this.#nextDelayMs(error);
    if (delayMs === undefined) {
      this.#giveUp(error);
      return;
    }
    const { type } = this.#event;
    const { envelope, attempt } = this.#delivery;
    this.#commit({ status: 'retry', durationMs: this.#durationMs(), delayMs });
    this.#host.logger.warn({ err: error, eventType: type, eventId: envelope.id, attempt, delayMs }, 'attempt failed');
  }

  #nextDelayMs(error: unknown): number | undefined {
    try {
      return nextDelayMs(this.#event.retry, this.#delivery.attempt, error);
    } catch (retryIfError) {
      this.#host.logger.error({ err: retryIfError, eventType: this.#event.type }, 'retryIf threw: no retry');
      return undefined;
    }
  }

  #giveUp(error: unknown): void {
    const { type } = this.#event;
    const { envelope, attempt } = this.#delivery;
    this.#end({ status: 'failed', error: errorInfo(error) });
    this.#host.logger.error({ err: error, eventType: type, eventId: envelope.id, attempt }, 'event failed');
  }

  #end(ending: Ending): void {
    const { envelope } = this.#delivery;
    // Past the depth limit a follow-up would be deeper still.
    const following = envelope.depth > maxDepth ? [] : followUps(this.#event.followUps, envelope, ending);
    const durationMs = this.#durationMs();
    if (ending.status === 'completed') this.#commit({ status: 'completed', durationMs, followUps: following });
    else this.#commit({ status: 'failed', error: ending.error, durationMs, followUps: following });
  }

  #durationMs(): number {
    return this.#host.transport.clock.monotonic() - this.#startedAt;
  }

  #commit(outcome: Outcome): void {
    this.#isSettled = true;
    this.#timeout?.cancel();
    const { type, id } = this.#delivery.envelope;
    this.#delivery.commit(outcome).catch((error: unknown) => {
      this.#host.logger.error({ err: error, eventType: type, eventId: id }, 'outcome could not be recorded');
    });
  }

  #expire(timeoutMs: number): void {
    const error = new HandlerTimeoutError(this.#event.type, timeoutMs);
    this.#context?.abort(error);
    this.#fail(error);
  }

  #revoke(reason: Error): void {
    this.#isSettled = true;
    this.#timeout?.cancel();
    this.#context?.abort(reason);
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
