import type { Redactor } from '../../redaction/redactor.js';
import { instruments } from '../../telemetry/instruments.js';
import { type OpenTelemetryApi, openTelemetry } from '../../telemetry/open-telemetry.js';
import { Operation } from '../../telemetry/operation.js';
import { listen } from '../../transports/delivery.js';
import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../../transports/transport.js';
import type { HandlerHost } from '../events/attempts/outcome-recorder.js';
import { countOutcome } from './count-outcome.js';
import { observeSends } from './observe-sends.js';
import { destinationName, telemetryAttributes } from './telemetry-attributes.js';

/** Consumes a delivery inside a span. The span belongs to the trace in the envelope and ends with the outcome. */
export function observeDelivery(
  delivery: Delivery,
  { transport: { service }, redactor }: Pick<HandlerHost, 'transport' | 'redactor'>,
  consume: (delivery: Delivery) => void,
): void {
  const api = openTelemetry();
  const operation = api === undefined ? undefined : startProcess(api, delivery, service, redactor);
  if (operation === undefined) consume(delivery);
  else operation.run(() => consume(new ObservedDelivery(delivery, service, operation)));
}

function startProcess(
  api: OpenTelemetryApi,
  delivery: Delivery,
  service: string,
  redactor: Redactor,
): Operation | undefined {
  const { id, type, requestId, trace } = delivery.envelope;
  const { consumed, processDuration } = instruments(api);
  const dimensions = {
    ...telemetryAttributes(type, service),
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
  };
  // A transport delivers in an arbitrary context, so the active one is never the parent.
  const parent = trace === undefined ? api.ROOT_CONTEXT : api.propagation.extract(api.ROOT_CONTEXT, trace);
  const creation = api.trace.getSpanContext(parent);
  consumed.add(1, dimensions, parent);
  return Operation.start(api, {
    name: `process ${destinationName(type)}`,
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
    errorInfo: redactor.info,
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
    listen(delivery, (reason) => {
      this.onRevoked?.(reason);
      operation.fail(reason);
      operation.end();
    });
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return this.#delivery.checkpoints;
  }

  async checkpoint(key: string, value: string, emits?: readonly Envelope[]): Promise<CommitResult> {
    if (emits === undefined || emits.length === 0) return this.#delivery.checkpoint(key, value);
    return observeSends(emits, (sent) => this.#delivery.checkpoint(key, value, sent), {
      areSent: (result) => result === 'ok',
      cause: this.#operation.context,
    });
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

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    this.#operation.set({ 'hubline.outcome': outcome.status });
    if (outcome.status === 'failed' || outcome.status === 'retry') this.#operation.fail(outcome.thrown);
    this.#operation.end();
    const result = await this.#commit(outcome, handlerEnd);
    if (result === 'ok') countOutcome(outcome.status, this.envelope.type, this.#service);
    return result;
  }

  async #commit(outcome: Outcome, handlerEnd: Promise<void> | undefined): Promise<CommitResult> {
    if (!('followUps' in outcome) || outcome.followUps.length === 0) return this.#delivery.commit(outcome, handlerEnd);
    const commit = async (followUps: readonly Envelope[]) =>
      this.#delivery.commit({ ...outcome, followUps }, handlerEnd);
    return observeSends(outcome.followUps, commit, {
      areSent: (result) => result === 'ok',
      cause: this.#operation.context,
    });
  }
}
