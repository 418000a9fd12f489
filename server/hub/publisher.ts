import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import { deriveId } from '../transports/derive-id.js';
import type { Logger } from '../transports/logger.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { PartialEmitError } from './errors.js';
import { checkEmitManyOptions, checkEmitOptions, type EmitManyOptions, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type RegisteredEvent } from './events/event.js';
import { keyOf } from './events/event-key.js';
import { encodePayload } from './events/payload.js';
import { toStoredBody } from './events/stored-payload.js';
import { observeSends } from './observability/observe-sends.js';
import type { HubWorkflow } from './runs/workflow.js';

/** Bounds of one round trip of `emitMany`. */
const maxBatchEvents = 1_000;
const maxBatchBytes = 4 * 1024 * 1024;

/** Payload as transports store it, and the key that its type computes from it. */
interface PreparedPayload {
  readonly body: string;
  readonly key: string | undefined;
}

/** Validates payloads and publishes events and workflow runs on a transport. */
export class Publisher {
  readonly #transport: TransportManager;
  readonly #maxPayloadBytes: number;
  readonly #logger: Logger;
  readonly #reportedTypes = new Set<string>();

  constructor(transport: TransportManager, maxPayloadBytes: number, logger: Logger) {
    this.#transport = transport;
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#logger = logger;
  }

  /**
   * Publishes an event.
   *
   * @param checkOpen throws if the hub no longer accepts the event; called after a schema, which may take time
   * @param cause envelope of the causing event
   */
  publish(
    event: RegisteredEvent,
    payload: unknown,
    options: EmitOptions | undefined,
    checkOpen: () => void,
    cause: Envelope | undefined,
  ): Promise<Receipt> {
    if (options !== undefined) checkEmitOptions(options);
    const prepared = this.#prepare(event, payload);
    if (!(prepared instanceof Promise)) return this.#send(event, prepared, options, cause);
    return prepared.then((validated) => {
      checkOpen();
      return this.#send(event, validated, options, cause);
    });
  }

  /**
   * Publishes several events of one type, cut into batches that a transport accepts at once.
   *
   * @param checkOpen throws if the hub no longer accepts events
   */
  async publishMany(
    event: RegisteredEvent,
    payloads: readonly unknown[],
    options: EmitManyOptions,
    checkOpen: () => void,
  ): Promise<readonly Receipt[]> {
    if (!Array.isArray(payloads)) throw new InvalidOptionError('payloads of emitMany', 'an array', payloads);
    checkEmitManyOptions(options);
    const requestId = options.requestId ?? randomUUID();
    const envelopes: Envelope[] = [];
    for (const [index, payload] of payloads.entries()) {
      const prepared = await this.#prepare(event, payload);
      const dedupeId = options.dedupeId?.(payload, index);
      const settings = { ...options, requestId, ...(dedupeId !== undefined && { dedupeId }) };
      checkEmitOptions({ ...settings, dedupeId });
      const id = index === 0 && options.requestId === undefined ? requestId : randomUUID();
      envelopes.push(createEnvelope(id, event.type, prepared, { ...settings, dedupeId }, event.dedupeWindowMs));
    }
    checkOpen();
    const receipts: Receipt[] = [];
    for (const batch of cutBatches(envelopes)) {
      try {
        const accepted = await observeSends(batch, (sent) => this.#transport.publish(sent));
        receipts.push(...accepted);
        if (accepted[0]?.unsubscribed === true) this.#reportUnsubscribed(batch[0]);
      } catch (error) {
        if (receipts.length === 0) throw error;
        throw new PartialEmitError(event.type, receipts.length, envelopes.length, error);
      }
    }
    return receipts;
  }

  /** Publishes the start of a workflow run. */
  async publishRun(workflow: HubWorkflow, payload: unknown, options: EmitOptions): Promise<Receipt> {
    checkEmitOptions(options);
    const event = { type: workflowType(workflow.name), dedupeWindowMs: defaultDedupeWindowMs };
    return this.#send(event, this.#prepareRun(workflow, payload), options, undefined);
  }

  /** Creates the event, or the start of the run, of a due time of a schedule. Its id is the same in every process. */
  async prepareScheduled(
    schedule: string,
    dueAt: number,
    target: RegisteredEvent | HubWorkflow,
    payload: unknown,
  ): Promise<Envelope> {
    const id = deriveId(`schedule:${this.#transport.service}:${schedule}`, String(dueAt));
    return 'type' in target
      ? createEnvelope(id, target.type, await this.#prepare(target, payload), {}, target.dedupeWindowMs)
      : createEnvelope(id, workflowType(target.name), this.#prepareRun(target, payload), {}, defaultDedupeWindowMs);
  }

  #prepareRun({ name }: HubWorkflow, payload: unknown): PreparedPayload {
    return { body: encodePayload(payload, name, this.#maxPayloadBytes), key: undefined };
  }

  #prepare(event: RegisteredEvent, payload: unknown): PreparedPayload | Promise<PreparedPayload> {
    const { type, schema, key } = event;
    const body = encodePayload(payload, type, this.#maxPayloadBytes);
    if (schema === undefined && key === undefined) return { body, key };
    // The handler receives the stored payload after JSON, so that is the value to compute the key from.
    const addKey = (stored: string): PreparedPayload => ({
      body: stored,
      key: key === undefined ? undefined : keyOf(event, JSON.parse(stored)),
    });
    const stored = schema === undefined ? body : toStoredBody({ type, payload, body }, schema, this.#maxPayloadBytes);
    return typeof stored === 'string' ? addKey(stored) : stored.then(addKey);
  }

  async #send(
    { type, dedupeWindowMs }: Pick<RegisteredEvent, 'type' | 'dedupeWindowMs'>,
    payload: PreparedPayload,
    options: EmitOptions | undefined,
    cause: Envelope | undefined,
  ): Promise<Receipt> {
    const id = randomUUID();
    const envelope = createEnvelope(id, type, payload, options, dedupeWindowMs, cause);
    const [receipt = { id, deduplicated: false }] = await observeSends([envelope], (sent) =>
      this.#transport.publish(sent),
    );
    if (receipt.unsubscribed === true) this.#reportUnsubscribed(envelope);
    return receipt;
  }

  /** Warns once per type: the events count as completed, and nobody would notice. */
  #reportUnsubscribed(envelope: Envelope | undefined): void {
    if (envelope === undefined || this.#reportedTypes.has(envelope.type)) return;
    const { id, type, requestId } = envelope;
    this.#reportedTypes.add(type);
    this.#logger.warn(
      { eventType: type, eventId: id, requestId },
      'no service subscribes to the event type, so its events are not handled; name the services in subscribers to keep events until they start',
    );
  }
}

function createEnvelope(
  id: string,
  type: string,
  { body, key }: PreparedPayload,
  options: { [K in keyof EmitOptions]: EmitOptions[K] | undefined } | undefined,
  dedupeWindowMs: number,
  cause?: Envelope,
): Envelope {
  const { delayMs = 0, priority = 0, dedupeId, requestId = cause?.requestId ?? id } = options ?? {};
  const depth = cause === undefined ? 0 : cause.depth + 1;
  const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
  const trace = cause?.trace;
  return { id, type, body, requestId, depth, delayMs, priority, replays: 0, dedupe, trace, key };
}

function* cutBatches(envelopes: readonly Envelope[]): Iterable<readonly Envelope[]> {
  let batch: Envelope[] = [];
  let bytes = 0;
  for (const envelope of envelopes) {
    const size = Buffer.byteLength(envelope.body);
    if (batch.length === maxBatchEvents || (batch.length > 0 && bytes + size > maxBatchBytes)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(envelope);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
