import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import type { Redactor } from '../redactor.js';
import { deriveId } from '../transports/derive-id.js';
import type { Logger } from '../transports/logger.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { PartialEmitError } from './errors.js';
import type { Cause, Draft } from './events/attempt-emitter.js';
import { checkEmitManyOptions, checkEmitOptions, type EmitManyOptions, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type RegisteredEvent } from './events/event.js';
import { keyOf } from './events/event-key.js';
import { encodePayload } from './events/payload.js';
import { toStoredBody } from './events/stored-payload.js';
import type { HubSettings } from './hub-options.js';
import { observeSends } from './observability/observe-sends.js';
import type { AnyWorkflow } from './runs/workflow.js';

/** Bounds of one round trip of `emitMany`. */
const maxBatchEvents = 1_000;
const maxBatchBytes = 4 * 1024 * 1024;

/** Draft whose key is not computed yet: setting it costs less than a copy. */
interface NewDraft extends Omit<Draft, 'key'> {
  key: string | undefined;
}

/** Validates payloads and publishes events and workflow runs on a transport. */
export class Publisher {
  readonly #transport: TransportManager;
  readonly #maxPayloadBytes: number;
  readonly #logger: Logger;
  readonly #redactor: Redactor;
  readonly #reportedTypes = new Set<string>();

  constructor(
    transport: TransportManager,
    { maxPayloadBytes, logger, redactor }: Pick<HubSettings, 'maxPayloadBytes' | 'logger' | 'redactor'>,
  ) {
    this.#transport = transport;
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#logger = logger;
    this.#redactor = redactor;
  }

  /**
   * Checks a payload and returns its event without an id. Synchronous unless the schema is asynchronous.
   *
   * @param cause causing event; overrides `options.cause`
   */
  draft(event: RegisteredEvent, payload: unknown, options: EmitOptions = {}, cause?: Cause): Draft | Promise<Draft> {
    const { type, schema, dedupeWindowMs } = event;
    checkEmitOptions(options);
    const body = encodePayload(payload, type, this.#maxPayloadBytes);
    const draft = createDraft(type, body, options, dedupeWindowMs, cause ?? causeOf(options));
    if (schema === undefined) return withKey(draft, event);
    const addKey = (stored: string): Draft => withKey({ ...draft, body: stored }, event);
    const stored = toStoredBody({ type, payload, body }, schema, this.#maxPayloadBytes);
    return stored instanceof Promise ? stored.then(addKey) : addKey(stored);
  }

  /** Checks the input of a run and returns the run without an id. Synchronous unless the schema is asynchronous. */
  draftRun(workflow: AnyWorkflow, input: unknown, options: EmitOptions = {}, cause?: Cause): Draft | Promise<Draft> {
    const { name, input: schema } = workflow;
    checkEmitOptions(options);
    const body = encodePayload(input, name, this.#maxPayloadBytes);
    const type = workflowType(name);
    const draft = createDraft(type, body, options, defaultDedupeWindowMs, cause ?? causeOf(options));
    if (schema === undefined) return draft;
    const stored = toStoredBody({ type: name, payload: input, body }, schema, this.#maxPayloadBytes);
    return stored instanceof Promise
      ? stored.then((output) => ({ ...draft, body: output }))
      : { ...draft, body: stored };
  }

  /** Publishes a checked event or run. */
  async send(draft: Draft): Promise<Receipt> {
    const id = randomUUID();
    const envelope = { ...draft, id, requestId: draft.requestId === '' ? id : draft.requestId };
    const [receipt = { id, deduplicated: false }] = await observeSends(
      [envelope],
      (sent) => this.#transport.publish(sent),
      { errorInfo: this.#redactor.info },
    );
    if (receipt.unsubscribed === true) this.#reportUnsubscribed(envelope);
    return receipt;
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
    const { dedupeId: dedupeIdOf, ...shared } = options;
    let requestId = '';
    const envelopes: Envelope[] = [];
    for (const [index, payload] of payloads.entries()) {
      const settings = dedupeIdOf === undefined ? shared : { ...shared, dedupeId: dedupeIdOf(payload, index) };
      const draft = await this.draft(event, payload, settings);
      const id = randomUUID();
      if (index === 0) requestId = draft.requestId === '' ? id : draft.requestId;
      envelopes.push({ ...draft, id, requestId });
    }
    checkOpen();
    const receipts: Receipt[] = [];
    for (const batch of cutBatches(envelopes)) {
      try {
        const accepted = await observeSends(batch, (sent) => this.#transport.publish(sent), {
          errorInfo: this.#redactor.info,
        });
        receipts.push(...accepted);
        if (accepted[0]?.unsubscribed === true) this.#reportUnsubscribed(batch[0]);
      } catch (error) {
        if (receipts.length === 0) throw error;
        throw new PartialEmitError(event.type, receipts.length, envelopes.length, error);
      }
    }
    return receipts;
  }

  /** Creates the event, or the start of the run, of a due time of a schedule. Its id is the same in every process. */
  async prepareScheduled(
    schedule: string,
    dueAt: number,
    target: RegisteredEvent | AnyWorkflow,
    payload: unknown,
  ): Promise<Envelope> {
    const id = deriveId(`schedule:${this.#transport.service}:${schedule}`, String(dueAt));
    const draft = await ('type' in target ? this.draft(target, payload) : this.draftRun(target, payload));
    return { ...draft, id, requestId: id };
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

/** Computes the key from the stored payload after JSON, which is what the handler receives. */
function withKey(draft: NewDraft, event: RegisteredEvent): Draft {
  if (event.key !== undefined) draft.key = keyOf(event, JSON.parse(draft.body));
  return draft;
}

/** An event from outside belongs to the request that has its own id: {@link Publisher.send} fills that in. */
function createDraft(
  type: string,
  body: string,
  { delayMs = 0, priority = 0, dedupeId, requestId }: EmitOptions,
  dedupeWindowMs: number,
  cause: Cause | undefined,
): NewDraft {
  const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
  return {
    type,
    body,
    requestId: requestId ?? cause?.requestId ?? '',
    depth: cause === undefined ? 0 : cause.depth + 1,
    delayMs,
    priority,
    replays: 0,
    dedupe,
    trace: cause?.trace,
    causeId: cause?.id,
    key: undefined,
  };
}

function causeOf({ cause }: EmitOptions): Cause | undefined {
  return cause && { id: cause.eventId, requestId: cause.requestId, depth: cause.depth };
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
