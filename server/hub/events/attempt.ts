import type { Delivery } from '../../transports/transport.js';
import { SchemaValidationError } from '../errors.js';
import type { HandlerFunction } from './context.js';
import type { RegisteredEvent } from './event.js';
import { type CallEnd, HandlerCall } from './handler-call.js';
import { HandlerContext } from './handler-context.js';
import { Conclusion, type DeliveryHost, refusalOf } from './outcome-recorder.js';
import { encodePayload } from './payload.js';

/** A registered event that has a handler. */
export type HandledEvent = RegisteredEvent & { readonly handler: HandlerFunction };

/** Runs an event's handler on one delivery and commits what came of it. */
export class Attempt implements CallEnd {
  readonly #event: HandledEvent;
  readonly #delivery: Delivery;
  readonly #host: DeliveryHost;
  readonly #conclusion: Conclusion;
  readonly #call: HandlerCall;

  constructor(event: HandledEvent, delivery: Delivery, host: DeliveryHost) {
    const { type, followUps, timeoutMs } = event;
    this.#event = event;
    this.#delivery = delivery;
    this.#host = host;
    this.#conclusion = new Conclusion('event', type, followUps, delivery, host);
    this.#call = new HandlerCall(type, timeoutMs, host.transport.clock, this);
  }

  run(): void {
    const { type, schema } = this.#event;
    const { envelope } = this.#delivery;
    this.#delivery.onRevoked = (reason) => this.#call.cancel(reason);
    const refusal = refusalOf(type, this.#delivery);
    if (refusal !== undefined) {
      this.#giveUp(refusal);
      return;
    }
    const payload: unknown = JSON.parse(envelope.body);
    if (schema === undefined) {
      this.#invoke(payload);
      return;
    }
    this.#call.step(
      () => schema.validate(payload),
      (result) => {
        if (result.issues === undefined) this.#invoke(result.value);
        else this.#giveUp(new SchemaValidationError(type, result.issues));
      },
    );
  }

  onReturn(value: unknown): void {
    const { type, followUps } = this.#event;
    let result = 'null';
    if (value !== undefined && (followUps.onSuccess !== undefined || followUps.onComplete !== undefined)) {
      try {
        result = encodePayload(value, type, this.#host.maxPayloadBytes, 'result');
      } catch (error) {
        // Run again, the handler would do its work again and return the same.
        this.#conclusion.giveUp(error);
        return;
      }
    }
    this.#conclusion.complete(result);
  }

  onThrow(error: unknown): void {
    this.#conclusion.fail(error, this.#event.retry, this.#delivery.attempt);
  }

  #invoke(payload: unknown): void {
    const { envelope, attempt } = this.#delivery;
    const { id, type, requestId, depth } = envelope;
    const idempotencyKey = `${this.#host.transport.service}:${id}`;
    const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
    const context = new HandlerContext(fields, this.#host.emitFrom(envelope), this.#host.logger);
    this.#call.invoke(this.#event.handler, context);
  }

  #giveUp(error: unknown): void {
    this.#call.cancel();
    this.#conclusion.giveUp(error);
  }
}
