import { quote } from '../../errors.js';
import {
  type CommitResult,
  type Delivery,
  type Envelope,
  listen,
  sizeOf,
  type TransactionRecord,
} from '../../transports/delivery.js';
import { StoredPayloadError } from '../errors.js';
import { selectLimit } from '../limits/limit.js';
import { longestWaitMs, type Permit } from '../limits/limit-keeper.js';
import {
  AttemptCtx,
  AttemptEmitter,
  type HandlerHost,
  type PublishingAttempt,
  type TransactionalAttempt,
} from './attempt-ctx.js';
import type { BatchCollector, Membership } from './batch.js';
import { accepts, type Condition } from './condition.js';
import type { HandlerFunction } from './context.js';
import { Draft } from './emit.js';
import { type EndedAttempt, EndingTransaction } from './ending-transaction.js';
import type { RegisteredEvent } from './event.js';
import { type CallCallbacks, HandlerCall } from './handler-call.js';
import { LiveOutput, type OutputWriter } from './live-output.js';
import { type CalledFunctions, OutcomeRecorder, preflightError } from './outcome-recorder.js';
import { encodeResult } from './payload.js';
import { type PayloadSchema, rejectionOf } from './payload-schema.js';

/** A registered event that has a handler. */
export type HandledEvent = RegisteredEvent & { readonly handler: HandlerFunction };

/** Delay of an event whose verdict could not be recorded, in milliseconds. */
const unrecordedDelayMs = 1_000;

/** One attempt: calls an event's handler for a delivery and commits the outcome. */
export class Attempt implements CallCallbacks, PublishingAttempt, CalledFunctions, TransactionalAttempt, EndedAttempt {
  readonly #event: HandledEvent;
  readonly #delivery: Delivery;
  readonly #host: HandlerHost;
  readonly #recorder: OutcomeRecorder;
  readonly #call: HandlerCall;
  readonly emitter: AttemptEmitter;
  #live: LiveOutput | undefined;
  #writer: OutputWriter | undefined;
  #transaction: EndingTransaction | undefined;
  readonly #batches: BatchCollector | undefined;
  #membership: Membership | undefined;
  #permit: Permit | undefined;
  #isOver = false;

  /** @param batches collects the events of the type; `undefined` if its handler receives one at a time */
  constructor(event: HandledEvent, delivery: Delivery, host: HandlerHost, batches?: BatchCollector) {
    const { type, followUps } = event;
    // That of a batch begins with its call.
    const timeoutMs = batches === undefined ? event.timeoutMs : undefined;
    this.#event = event;
    this.#delivery = delivery;
    this.#host = host;
    this.#call = new HandlerCall(type, timeoutMs, host.transport.clock, this);
    this.#batches = batches;
    this.#recorder = new OutcomeRecorder('event', type, followUps, delivery, host, this);
    this.emitter = new AttemptEmitter(host.publisher, delivery.envelope, 'emit:', this);
  }

  get output(): OutputWriter {
    this.#live ??= new LiveOutput(this.#delivery.envelope, false, this.#host);
    this.#writer ??= this.#live.writer(undefined, this.#delivery.attempt);
    if (this.#isOver) this.#writer.close();
    return this.#writer;
  }

  flushOutput(): Promise<void> | undefined {
    return this.#live?.flush();
  }

  run(): void {
    const { type, schema } = this.#event;
    const { envelope } = this.#delivery;
    listen(this.#delivery, (reason) => {
      this.emitter.close();
      this.#call.cancel(reason);
      this.#live?.discard();
      this.#end();
      return this.#membership?.leave(reason) ?? this.#call.unfinished;
    });
    const error = preflightError(type, this.#delivery);
    if (error !== undefined) {
      this.#reject(error);
      return;
    }
    let payload: unknown;
    try {
      payload = Draft.takePayload(envelope);
    } catch (cause) {
      this.emitter.close();
      this.#call.cancel();
      this.#recorder.failUnreadable(new StoredPayloadError(type, cause));
      return;
    }
    if (schema === undefined) this.#begin(payload);
    else this.#validate(schema, payload);
  }

  #validate(schema: PayloadSchema, payload: unknown): void {
    const { type } = this.#event;
    this.#call.runStage(
      () => schema.validate(payload),
      (result) => {
        const error = rejectionOf(type, schema, result);
        if (error === undefined) this.#begin(payload);
        else this.#reject(error);
      },
    );
  }

  get unfinished(): Promise<void> | undefined {
    return this.#membership?.unfinished ?? this.#call.unfinished;
  }

  onReturn(value: unknown): void {
    const emits = this.#end();
    let result: string;
    try {
      result = this.#encode(value);
    } catch (error) {
      // A retry would repeat the handler's work and return the same value.
      this.#recorder.fail(error);
      return;
    }
    if (this.#transaction === undefined) {
      this.#recorder.complete(result, emits);
      return;
    }
    this.#transaction.settle(() => {
      if (this.#transaction?.isCommitted !== true) this.#recorder.complete(result, emits);
    });
  }

  /** Returns a result as JSON, if a follow-up receives it. */
  #encode(value: unknown): string {
    const { type, followUps } = this.#event;
    if (value === undefined || (followUps.onSuccess === undefined && followUps.onComplete === undefined)) return 'null';
    return encodeResult(value, type, this.#host.maxPayloadBytes, 'result');
  }

  onThrow(error: unknown): void {
    this.#end();
    const fail = (): void => {
      if (this.#transaction?.isCommitted === true) this.#recorder.logLate(error);
      else this.#recorder.retryOrFail(error, this.#event.retry, this.#delivery.attempt);
    };
    if (this.#transaction === undefined) fail();
    else this.#transaction.settle(fail);
  }

  get transport(): string {
    return this.#host.transport.name;
  }

  get delivery(): Delivery {
    return this.#delivery;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  // Created on first use: most handlers have none.
  get transaction(): EndingTransaction {
    this.#transaction ??= new EndingTransaction(this);
    return this.#transaction;
  }

  async record(value: unknown): Promise<TransactionRecord> {
    await this.flushOutput();
    const outcome = await this.#recorder.success(this.#encode(value), this.emitter.emitted);
    return { outcome, handlerEnd: this.#call.returned };
  }

  onCommitted(): void {
    this.#end();
    this.#call.detach((error) => this.#recorder.logLate(error));
  }

  /** The transport revokes the delivery. */
  onLost(): void {}

  /** Asks the condition of the handler, unless it has let the event pass before. */
  #begin(payload: unknown): void {
    const { when } = this.#event;
    if (when === undefined || this.#delivery.isAdmitted) this.#acquire(payload);
    else this.#decide(when, payload);
  }

  #decide(when: Condition, payload: unknown): void {
    this.#call.runStage(
      () => {
        const isAccepted = accepts(when, this.#delivery.envelope, `event ${quote(this.#event.type)}`);
        return isAccepted ? this.#admit() : 'refused';
      },
      (verdict) => {
        if (verdict === 'ok' || verdict === 'already') {
          this.#acquire(payload);
          return;
        }
        this.#end();
        this.#call.cancel();
        if (verdict === 'refused') this.#recorder.filter();
        else if (verdict === 'unrecorded') this.#recorder.release(unrecordedDelayMs, undefined);
      },
    );
  }

  /** Records the verdict. Never rejects: a transport that fails is no failure of the handler. */
  #admit(): CommitResult | Promise<CommitResult | 'unrecorded'> {
    const admitted = this.#delivery.admit();
    if (typeof admitted === 'string') return admitted;
    return admitted.catch((error: unknown) => {
      const { id, requestId } = this.#delivery.envelope;
      const fields = { err: error, requestId, eventType: this.#event.type, eventId: id };
      this.#host.logger.error(fields, 'event released: the transport could not record that its when let it pass');
      return 'unrecorded' as const;
    });
  }

  /** Lets the event wait for a batch. */
  #join(batches: BatchCollector, payload: unknown): void {
    const { envelope, attempt } = this.#delivery;
    const { id, key, requestId } = envelope;
    this.#membership = batches.add({
      event: { id, key, payload, requestId, attempt },
      bytes: sizeOf(envelope),
      emitter: this.emitter,
      begin: () => this.#recorder.begin(),
      complete: () => {
        this.#call.cancel();
        this.onReturn(undefined);
      },
      fail: (error) => {
        this.#call.cancel();
        this.onThrow(error);
      },
      release: (delayMs) => {
        this.#end();
        this.#call.cancel();
        this.#recorder.release(delayMs, undefined);
      },
    });
  }

  /** Calls the handler as soon as its limit allows. */
  #acquire(payload: unknown): void {
    const { type, limit, timeoutMs } = this.#event;
    if (this.#batches !== undefined) {
      this.#join(this.#batches, payload);
      return;
    }
    if (limit === undefined) {
      this.#invoke(payload);
      return;
    }
    const isOver = (): boolean => this.#isOver;
    // The wait for a permit is no time of the handler.
    this.#call.stopTimeout();
    this.#call.runStage(
      () => {
        const chosen = selectLimit(limit, payload, `limit of event ${quote(type)}`);
        return this.#host.agentParts.limits.acquire(chosen, { maxWaitMs: longestWaitMs, isOver });
      },
      (permit) => {
        if (typeof permit === 'number') {
          this.#end();
          this.#call.cancel();
          this.#recorder.release(permit, undefined);
          return;
        }
        this.#permit = permit;
        if (timeoutMs !== undefined) this.#call.startTimeout(type, timeoutMs, this.#host.transport.clock);
        this.#invoke(payload);
      },
    );
  }

  /** Refuses further events, and returns the permit when the handler has returned. */
  #end(): readonly Envelope[] {
    this.#isOver = true;
    this.#writer?.close();
    const emitted = this.emitter.close();
    const permit = this.#permit;
    if (permit !== undefined) {
      this.#permit = undefined;
      const { unfinished } = this.#call;
      if (unfinished === undefined) void permit.release();
      else void unfinished.then(() => permit.release());
    }
    return emitted;
  }

  #invoke(payload: unknown): void {
    const { envelope, attempt } = this.#delivery;
    const { id, type, requestId, depth } = envelope;
    const idempotencyKey = `${this.#host.transport.service}:${id}`;
    const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
    const context = new AttemptCtx(fields, this.emitter, this.#host, this);
    this.#call.invoke(this.#event.handler, context);
  }

  #reject(error: unknown): void {
    this.#call.cancel();
    this.#recorder.fail(error);
  }
}
