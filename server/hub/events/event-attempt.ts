import { type Delivery, listen } from '../../transports/delivery.js';
import { StoredPayloadError } from '../errors.js';
import { AttemptCtx, AttemptEmitter, type HandlerHost } from './attempt-ctx.js';
import type { HandlerFunction } from './context.js';
import { Draft } from './emit.js';
import type { RegisteredEvent } from './event.js';
import { type CallCallbacks, HandlerCall } from './handler-call.js';
import { OutcomeRecorder, preflightError } from './outcome-recorder.js';
import { encodeResult } from './payload.js';
import { type PayloadSchema, rejectionOf } from './payload-schema.js';

/** A registered event that has a handler. */
export type HandledEvent = RegisteredEvent & { readonly handler: HandlerFunction };

/** One attempt: calls an event's handler for a delivery and commits the outcome. */
export class Attempt implements CallCallbacks {
  readonly #event: HandledEvent;
  readonly #delivery: Delivery;
  readonly #host: HandlerHost;
  readonly #recorder: OutcomeRecorder;
  readonly #call: HandlerCall;
  readonly #emitter: AttemptEmitter;

  constructor(event: HandledEvent, delivery: Delivery, host: HandlerHost) {
    const { type, followUps, timeoutMs } = event;
    this.#event = event;
    this.#delivery = delivery;
    this.#host = host;
    this.#call = new HandlerCall(type, timeoutMs, host.transport.clock, this);
    this.#recorder = new OutcomeRecorder('event', type, followUps, delivery, host, this.#call);
    this.#emitter = new AttemptEmitter(host.publisher, delivery.envelope, 'emit:');
  }

  run(): void {
    const { type, schema } = this.#event;
    const { envelope } = this.#delivery;
    listen(this.#delivery, (reason) => {
      this.#emitter.close();
      this.#call.cancel(reason);
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
      this.#emitter.close();
      this.#call.cancel();
      this.#recorder.failUnreadable(new StoredPayloadError(type, cause));
      return;
    }
    if (schema === undefined) this.#invoke(payload);
    else this.#validate(schema, payload);
  }

  #validate(schema: PayloadSchema, payload: unknown): void {
    const { type } = this.#event;
    this.#call.runStage(
      () => schema.validate(payload),
      (result) => {
        const error = rejectionOf(type, schema, result);
        if (error === undefined) this.#invoke(payload);
        else this.#reject(error);
      },
    );
  }

  onReturn(value: unknown): void {
    const { type, followUps } = this.#event;
    const emits = this.#emitter.close();
    let result = 'null';
    if (value !== undefined && (followUps.onSuccess !== undefined || followUps.onComplete !== undefined)) {
      try {
        result = encodeResult(value, type, this.#host.maxPayloadBytes, 'result');
      } catch (error) {
        // A retry would repeat the handler's work and return the same value.
        this.#recorder.fail(error);
        return;
      }
    }
    this.#recorder.complete(result, emits);
  }

  onThrow(error: unknown): void {
    this.#emitter.close();
    this.#recorder.retryOrFail(error, this.#event.retry, this.#delivery.attempt);
  }

  #invoke(payload: unknown): void {
    const { envelope, attempt } = this.#delivery;
    const { id, type, requestId, depth } = envelope;
    const idempotencyKey = `${this.#host.transport.service}:${id}`;
    const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
    const context = new AttemptCtx(fields, this.#emitter, this.#host);
    this.#call.invoke(this.#event.handler, context);
  }

  #reject(error: unknown): void {
    this.#call.cancel();
    this.#recorder.fail(error);
  }
}
