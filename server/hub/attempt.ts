import { SchemaValidationError } from '../errors.js';
import type { Delivery } from '../transports/transport.js';
import { Conclusion, type DeliveryHost, refusalOf } from './conclusion.js';
import type { HandlerFunction } from './context.js';
import type { RegisteredEvent } from './event.js';
import { HandlerCall } from './handler-call.js';
import { HandlerContext } from './handler-context.js';
import { encodePayload } from './payload.js';

/** A registered event that has a handler. */
export type HandledEvent = RegisteredEvent & { readonly handler: HandlerFunction };

/** Runs an event's handler on one delivery and commits what came of it. */
export function runAttempt(event: HandledEvent, delivery: Delivery, host: DeliveryHost): void {
  const { type, schema, timeoutMs, retry, followUps } = event;
  const { envelope, attempt } = delivery;
  const conclusion = new Conclusion({ kind: 'event', name: type, followUps }, delivery, host);
  const refusal = refusalOf(type, delivery);
  if (refusal !== undefined) {
    conclusion.giveUp(refusal);
    return;
  }
  const isResultSent = followUps.onSuccess !== undefined || followUps.onComplete !== undefined;
  const call = new HandlerCall(type, timeoutMs, host.transport.clock, {
    onReturn(value) {
      let result = 'null';
      if (isResultSent && value !== undefined) {
        try {
          result = encodePayload(value, type, host.maxPayloadBytes, 'result');
        } catch (error) {
          // Run again, the handler would do its work again and return the same.
          conclusion.giveUp(error);
          return;
        }
      }
      conclusion.complete(result);
    },
    onThrow: (error) => conclusion.fail(error, retry, attempt),
  });
  delivery.onRevoked = (reason) => call.cancel(reason);
  const invoke = (payload: unknown): void => {
    const { id, requestId, depth } = envelope;
    const idempotencyKey = `${host.transport.service}:${id}`;
    const fields = { requestId, eventType: type, eventId: id, payload, attempt, depth, idempotencyKey };
    call.invoke(event.handler, new HandlerContext(fields, host.emitFrom(envelope), host.logger));
  };
  const payload: unknown = JSON.parse(envelope.body);
  if (schema === undefined) invoke(payload);
  else {
    call.step(
      () => schema.validate(payload),
      (result) => {
        if (result.issues === undefined) {
          invoke(result.value);
        } else {
          call.cancel();
          conclusion.giveUp(new SchemaValidationError(type, result.issues));
        }
      },
    );
  }
}
