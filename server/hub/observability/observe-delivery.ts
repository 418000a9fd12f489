import type { Context } from '@opentelemetry/api';
import { instruments } from '../../telemetry/instruments.js';
import { type OpenTelemetryApi, openTelemetry } from '../../telemetry/open-telemetry.js';
import { Operation } from '../../telemetry/operation.js';
import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../../transports/transport.js';
import { countOutcome } from './count-outcome.js';
import { observeSends } from './observe-sends.js';
import { destinationOf } from './telemetry-attributes.js';

/** Has a delivery consumed as an operation that ends with its outcome, part of the trace that its envelope carries. */
export function observeDelivery(delivery: Delivery, service: string, consume: (delivery: Delivery) => void): void {
  const api = openTelemetry();
  const operation = api === undefined ? undefined : startProcess(api, delivery, service);
  if (operation === undefined) consume(delivery);
  else operation.run(() => consume(new ObservedDelivery(delivery, service, operation)));
}

function startProcess(api: OpenTelemetryApi, delivery: Delivery, service: string): Operation | undefined {
  const { id, type, requestId, trace } = delivery.envelope;
  const { name, attributes } = destinationOf(type, service);
  const { consumed, processDuration } = instruments(api);
  const dimensions = {
    ...attributes,
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
  };
  // Never what is active: a transport delivers in whichever context happens to be there.
  const parent = trace === undefined ? api.ROOT_CONTEXT : api.propagation.extract(api.ROOT_CONTEXT, trace);
  const creation = api.trace.getSpanContext(parent);
  consumed.add(1, dimensions, parent);
  return Operation.start(api, {
    name: `process ${name}`,
    kind: api.SpanKind.CONSUMER,
    dimensions,
    attributes: {
      'messaging.message.id': id,
      'messaging.message.conversation_id': requestId,
      'hubline.attempt': delivery.attempt,
    },
    parent,
    ...(creation !== undefined && { links: [{ context: creation }] }),
    histogram: processDuration,
  });
}

class ObservedDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly refusal: Error | undefined;
  onRevoked: ((reason: Error) => void) | undefined;
  readonly #delivery: Delivery;
  readonly #service: string;
  readonly #operation: Operation;

  constructor(delivery: Delivery, service: string, operation: Operation) {
    this.envelope = delivery.envelope;
    this.attempt = delivery.attempt;
    this.refusal = delivery.refusal;
    this.#delivery = delivery;
    this.#service = service;
    this.#operation = operation;
    delivery.onRevoked = (reason) => {
      this.onRevoked?.(reason);
      operation.fail(reason);
      operation.end();
    };
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return this.#delivery.checkpoints;
  }

  checkpoint(key: string, value: string, emits?: readonly Envelope[]): Promise<CommitResult> {
    return this.#delivery.checkpoint(key, value, emits);
  }

  wait(waits: readonly RunWait[]): Promise<CommitResult> {
    return this.#delivery.wait(waits);
  }

  get onRecorded(): Delivery['onRecorded'] {
    return this.#delivery.onRecorded;
  }

  set onRecorded(listener: Delivery['onRecorded']) {
    this.#delivery.onRecorded = listener;
  }

  async commit(outcome: Outcome): Promise<CommitResult> {
    this.#operation.set({ 'hubline.outcome': outcome.status });
    if (outcome.status === 'failed' || outcome.status === 'retry') this.#operation.fail(outcome.thrown);
    this.#operation.end();
    const result = await this.#commit(outcome, this.#operation.context);
    if (result === 'ok') countOutcome(outcome.status, this.envelope.type, this.#service);
    return result;
  }

  #commit(outcome: Outcome, cause: Context): Promise<CommitResult> {
    if (!('followUps' in outcome) || outcome.followUps.length === 0) return this.#delivery.commit(outcome);
    return observeSends(
      outcome.followUps,
      (followUps) => this.#delivery.commit({ ...outcome, followUps }),
      (result) => result === 'ok',
      cause,
    );
  }
}
