import type { Attributes, BatchObservableCallback, Context } from '@opentelemetry/api';
import type { Redactor } from '../redaction.js';
import { instruments, type OpenTelemetryApi, Operation, type OperationDetails, openTelemetry } from '../telemetry.js';
import {
  type CommitResult,
  type Delivery,
  type Envelope,
  listen,
  type Offer,
  type Outcome,
  type RevokedCallback,
  type RunWait,
  type Verdict,
  workflowOf,
} from '../transports/delivery.js';
import type { TransportManager } from '../transports/transport.js';
import type { HandlerHost } from './events/attempt-ctx.js';
import type { AttemptTally } from './work.js';

/** Parts of a hub that observe its deliveries. */
interface DeliveryObservers extends Pick<HandlerHost, 'transport' | 'redactor'> {
  readonly tally?: AttemptTally | undefined;
}

/** Consumes a delivery inside a span. The span belongs to the trace in the envelope and ends with the outcome. */
export function observeDelivery(
  delivery: Delivery,
  { transport: { service }, redactor, tally }: DeliveryObservers,
  consume: (delivery: Delivery) => void,
): void {
  const api = openTelemetry();
  const operation = api === undefined ? undefined : startProcess(api, delivery, service, redactor);
  tally?.begin();
  if (operation !== undefined) {
    operation.run(() => consume(new ObservedDelivery(delivery, service, operation, tally)));
  } else if (tally !== undefined) consume(new ObservedDelivery(delivery, service, operation, tally));
  else consume(delivery);
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
  onRevoked: RevokedCallback | undefined;
  readonly #delivery: Delivery;
  readonly #service: string;
  readonly #operation: Operation | undefined;
  #tally: AttemptTally | undefined;

  constructor(delivery: Delivery, service: string, operation: Operation | undefined, tally: AttemptTally | undefined) {
    this.envelope = delivery.envelope;
    this.attempt = delivery.attempt;
    this.refusal = delivery.refusal;
    this.#delivery = delivery;
    this.#service = service;
    this.#operation = operation;
    this.#tally = tally;
    listen(delivery, (reason) => {
      const returned = this.onRevoked?.(reason);
      operation?.fail(reason);
      operation?.end();
      this.#count('lost');
      return returned;
    });
  }

  /** Counts the end of the attempt, once. */
  #count(status: Outcome['status'] | 'lost'): void {
    this.#tally?.end(status);
    this.#tally = undefined;
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return this.#delivery.checkpoints;
  }

  async checkpoint(key: string, value: string, emits?: readonly Envelope[]): Promise<CommitResult> {
    if (emits === undefined || emits.length === 0) return this.#delivery.checkpoint(key, value);
    return observeSends(emits, (sent) => this.#delivery.checkpoint(key, value, sent), {
      areSent: (result) => result === 'ok',
      cause: this.#operation?.context,
    });
  }

  get transact(): Delivery['transact'] {
    const { transact } = this.#delivery;
    if (transact === undefined) return undefined;
    return async (work, settings) => {
      let sending = (_result: CommitResult): void => {};
      const sendAll = (envelopes: readonly Envelope[]): Promise<readonly Envelope[]> =>
        new Promise((resolve) => {
          // What an earlier call of `work` emitted is rolled back.
          sending('fenced');
          const send = (sent: readonly Envelope[]): Promise<CommitResult> => {
            resolve(sent);
            return new Promise((end) => {
              sending = end;
            });
          };
          const areSent = (result: CommitResult): boolean => result === 'ok';
          void observeSends(envelopes, send, { areSent, cause: this.#operation?.context });
        });
      let isOutcome = false;
      let result: CommitResult = 'fenced';
      try {
        result = await transact(async (client) => {
          const record = await work(client);
          isOutcome = 'outcome' in record;
          if (!('outcome' in record)) return { ...record, emits: await sendAll(record.emits) };
          const { outcome } = record;
          return { ...record, outcome: { ...outcome, followUps: await sendAll(outcome.followUps) } };
        }, settings);
      } finally {
        sending(result);
      }
      if (isOutcome && result === 'ok') {
        this.#operation?.set({ 'hubline.outcome': 'completed' });
        this.#operation?.end();
        countOutcome('completed', this.envelope.type, this.#service);
        this.#count('completed');
      }
      return result;
    };
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    const children = waits.flatMap(({ run }) => (run === undefined ? [] : [run]));
    if (children.length === 0) return this.#delivery.wait(waits);
    const wait = async (sent: readonly Envelope[]): Promise<CommitResult> => {
      const next = sent.values();
      return this.#delivery.wait(waits.map((each) => (each.run ? { ...each, run: next.next().value } : each)));
    };
    return observeSends(children, wait, { areSent: (result) => result === 'ok', cause: this.#operation?.context });
  }

  get isAdmitted(): boolean {
    return this.#delivery.isAdmitted;
  }

  admit(): CommitResult | Promise<CommitResult> {
    return this.#delivery.admit();
  }

  get offers(): Delivery['offers'] {
    return this.#delivery.offers;
  }

  decide(offer: Offer, verdict: Verdict): CommitResult | Promise<CommitResult> {
    return this.#delivery.decide(offer, verdict);
  }

  get onOffered(): Delivery['onOffered'] {
    return this.#delivery.onOffered;
  }

  set onOffered(listener: Delivery['onOffered']) {
    this.#delivery.onOffered = listener;
  }

  get onRecorded(): Delivery['onRecorded'] {
    return this.#delivery.onRecorded;
  }

  set onRecorded(listener: Delivery['onRecorded']) {
    this.#delivery.onRecorded = listener;
  }

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    this.#operation?.set({ 'hubline.outcome': outcome.status });
    if (outcome.status === 'failed' || outcome.status === 'retry') this.#operation?.fail(outcome.thrown);
    this.#operation?.end();
    let isRecorded = false;
    try {
      const result = await this.#commit(outcome, handlerEnd);
      isRecorded = result === 'ok';
      if (isRecorded) countOutcome(outcome.status, this.envelope.type, this.#service);
      return result;
    } finally {
      this.#count(isRecorded ? outcome.status : 'lost');
    }
  }

  async #commit(outcome: Outcome, handlerEnd: Promise<void> | undefined): Promise<CommitResult> {
    if (!('followUps' in outcome) || outcome.followUps.length === 0) return this.#delivery.commit(outcome, handlerEnd);
    const commit = async (followUps: readonly Envelope[]) =>
      this.#delivery.commit({ ...outcome, followUps }, handlerEnd);
    return observeSends(outcome.followUps, commit, {
      areSent: (result) => result === 'ok',
      cause: this.#operation?.context,
    });
  }
}

type Publish<T> = (envelopes: readonly Envelope[]) => T | Promise<T>;

/** Options of {@link observeSends}. */
interface SendOptions<T> {
  /**
   * Returns `true` if the result of `publish` means that the envelopes were accepted; otherwise their spans are
   * discarded.
   * @default all are accepted
   */
  readonly areSent?: (result: T) => boolean;
  /** Context of the causing span. @default the active context, or else the trace in the envelope */
  readonly cause?: Context | undefined;
  readonly errorInfo?: OperationDetails['errorInfo'];
}

/**
 * Publishes envelopes with one span per envelope. Each published envelope carries the trace context of its span.
 * Without an SDK of OpenTelemetry, returns what `publish` returns.
 */
export function observeSends<T>(
  envelopes: readonly Envelope[],
  publish: Publish<T>,
  options: SendOptions<T> = {},
): T | Promise<T> {
  const api = openTelemetry();
  if (api === undefined) return publish(envelopes);
  const { areSent = () => true } = options;
  const sends = envelopes.map((envelope) => startSend(api, envelope, options));
  return publishAs(api, sends, envelopes, publish, areSent);
}

async function publishAs<T>(
  api: OpenTelemetryApi,
  sends: readonly (Operation | undefined)[],
  envelopes: readonly Envelope[],
  publish: Publish<T>,
  areSent: (result: T) => boolean,
): Promise<T> {
  try {
    const result = await publish(envelopes.map((envelope, index) => withTrace(envelope, sends[index]?.carrier())));
    if (areSent(result)) end(api, sends);
    return result;
  } catch (error) {
    for (const send of sends) send?.fail(error);
    end(api, sends);
    throw error;
  }
}

function withTrace(envelope: Envelope, trace: Envelope['trace']): Envelope {
  return trace === undefined ? envelope : { ...envelope, body: envelope.body, trace };
}

function end(api: OpenTelemetryApi, sends: readonly (Operation | undefined)[]): void {
  const { sent } = instruments(api);
  for (const send of sends) {
    send?.end();
    if (send !== undefined) sent.add(1, send.dimensions, send.context);
  }
}

function startSend<T>(
  api: OpenTelemetryApi,
  envelope: Envelope,
  { cause, errorInfo }: SendOptions<T>,
): Operation | undefined {
  const { id, type, requestId } = envelope;
  return Operation.start(api, {
    name: `send ${destinationName(type)}`,
    kind: api.SpanKind.PRODUCER,
    dimensions: {
      ...telemetryAttributes(type),
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
    },
    attributes: { 'messaging.message.id': id, 'messaging.message.conversation_id': requestId },
    parent: cause ?? parentOf(api, envelope),
    histogram: instruments(api).sendDuration,
    ...(errorInfo && { errorInfo }),
  });
}

/** Returns the active context, or the trace of the causing event if a handler emits outside of its context. */
function parentOf(api: OpenTelemetryApi, { trace }: Envelope): Context {
  const active = api.context.active();
  if (trace === undefined || api.trace.getSpanContext(active) !== undefined) return active;
  return api.propagation.extract(active, trace);
}

/** Starts a span for one attempt at a workflow's step, if an SDK is registered. */
export function startStep(workflow: string, step: string, attempt: number): Operation | undefined {
  const api = openTelemetry();
  if (api === undefined) return undefined;
  return Operation.start(api, {
    name: `step ${step}`,
    kind: api.SpanKind.INTERNAL,
    dimensions: { 'hubline.workflow.name': workflow, 'hubline.workflow.step': step },
    attributes: { 'hubline.attempt': attempt },
    histogram: instruments(api).stepDuration,
  });
}

/**
 * Reports the service's pending and active events per type at each collection of metrics. Returns a function that
 * stops it.
 */
export function observeCounts(transport: TransportManager, types: readonly string[]): () => void {
  const api = openTelemetry();
  if (api === undefined || types.length === 0) return () => {};
  const { meter, pending, active } = instruments(api);
  const observe: BatchObservableCallback = async (result) => {
    const counts = await transport.counts.get(types);
    for (const [index, type] of types.entries()) {
      const own = counts[index]?.services.find(({ service }) => service === transport.service)?.counts;
      const attributes = telemetryAttributes(type, transport.service);
      result.observe(pending, own?.pending ?? 0, attributes);
      result.observe(active, own?.active ?? 0, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [pending, active]);
  return () => meter.removeBatchObservableCallback(observe, [pending, active]);
}

/** Counts a recorded outcome. */
export function countOutcome(status: Outcome['status'], type: string, service: string): void {
  const api = openTelemetry();
  if (api === undefined) return;
  const { completed, failed, retried } = instruments(api);
  const counters: Partial<Record<Outcome['status'], typeof completed>> = { completed, failed, retry: retried };
  counters[status]?.add(1, telemetryAttributes(type, service));
}

/** Returns the name of the event type or workflow that an envelope's type denotes. */
function destinationName(type: string): string {
  return workflowOf(type) ?? type;
}

/**
 * Returns the attributes of an envelope's type, as the semantic conventions for messaging define them.
 *
 * @param service service whose events are measured; absent for the events of all services
 */
function telemetryAttributes(type: string, service?: string): Attributes {
  return {
    'messaging.system': 'hubline',
    'messaging.destination.name': destinationName(type),
    'hubline.kind': workflowOf(type) === undefined ? 'event' : 'workflow',
    ...(service !== undefined && { 'messaging.consumer.group.name': service }),
  };
}
