import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import type { OperationDetails } from '../telemetry/operation.js';
import { deriveId } from '../transports/derive-id.js';
import type { Logger } from '../transports/logger.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { PartialEmitError } from './errors.js';
import type { Cause, Draft } from './events/attempts/attempt-emitter.js';
import { checkEmitManyOptions, checkEmitOptions, type EmitManyOptions, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type RegisteredEvent } from './events/definition/event.js';
import { type KeySource, keyOf } from './events/definition/event-key.js';
import { encodePayload } from './events/payloads/payload.js';
import { toStoredBody } from './events/payloads/stored-payload.js';
import type { HubSettings } from './hub-options.js';
import { observeSends } from './observability/observe-sends.js';
import type { Registry } from './registration/registry.js';
import type { AnyWorkflow } from './runs/definition/workflow.js';

/** Bounds of one round trip of `emitMany`. */
const maxBatchEvents = 1_000;
const maxBatchBytes = 4 * 1024 * 1024;

/** Validates payloads and publishes events and workflow runs on a transport. */
export class Publisher {
  readonly #transport: TransportManager;
  readonly #maxPayloadBytes: number;
  readonly #logger: Logger;
  readonly #publish: (envelopes: readonly Envelope[]) => Promise<readonly Receipt[]>;
  readonly #sendOptions: Pick<OperationDetails, 'errorInfo'>;
  readonly #reportedTypes = new Set<string>();
  readonly #keySourceOf: (workflow: AnyWorkflow) => KeySource;

  constructor(
    transport: TransportManager,
    registry: Pick<Registry, 'keySourceOf'>,
    { maxPayloadBytes, logger, redactor }: Pick<HubSettings, 'maxPayloadBytes' | 'logger' | 'redactor'>,
  ) {
    this.#transport = transport;
    this.#keySourceOf = (workflow) => registry.keySourceOf(workflow);
    this.#publish = (envelopes) => transport.publish(envelopes);
    this.#sendOptions = { errorInfo: redactor.info };
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#logger = logger;
  }

  /**
   * Checks a payload and returns its event without an id. Synchronous unless the schema is asynchronous.
   *
   * @param cause causing event; overrides `options.cause`
   */
  draft(event: RegisteredEvent, payload: unknown, options?: EmitOptions, cause?: Cause): Draft | Promise<Draft> {
    const { type, schema, dedupeWindowMs } = event;
    const draft = this.#encode(type, type, payload, options, dedupeWindowMs, cause);
    if (schema === undefined) return withKey(draft, event);
    const stored = toStoredBody({ type, payload, body: draft.body }, schema, this.#maxPayloadBytes);
    return stored instanceof Promise
      ? stored.then((body) => withKey(withBody(draft, body), event))
      : withKey(withBody(draft, stored), event);
  }

  /** Checks the input of a run and returns the run without an id. Synchronous unless the schema is asynchronous. */
  draftRun(workflow: AnyWorkflow, input: unknown, options?: EmitOptions, cause?: Cause): Draft | Promise<Draft> {
    const { name, input: schema } = workflow;
    const draft = this.#encode(workflowType(name), name, input, options, defaultDedupeWindowMs, cause);
    const source = this.#keySourceOf(workflow);
    if (schema === undefined) return withKey(draft, source);
    const stored = toStoredBody({ type: name, payload: input, body: draft.body }, schema, this.#maxPayloadBytes);
    return stored instanceof Promise
      ? stored.then((body) => withKey(withBody(draft, body), source))
      : withKey(withBody(draft, stored), source);
  }

  #encode(
    type: string,
    name: string,
    payload: unknown,
    options: EmitOptions | undefined,
    dedupeWindowMs: number,
    cause: Cause | undefined,
  ): Draft {
    if (options !== undefined) checkEmitOptions(options);
    const body = encodePayload(payload, name, this.#maxPayloadBytes);
    return createDraft(type, body, options ?? noOptions, dedupeWindowMs, cause);
  }

  /**
   * Publishes an event or run.
   *
   * @param create checks and returns the event or run
   * @param checkOpen throws if the hub no longer accepts events
   */
  async send(create: () => Draft | Promise<Draft>, checkOpen: () => void): Promise<Receipt> {
    checkOpen();
    let draft = create();
    if (draft instanceof Promise) {
      draft = await draft;
      // An asynchronous schema may have taken its time.
      checkOpen();
    }
    const envelope = identify(draft, randomUUID());
    const receipts = await observeSends([envelope], this.#publish, this.#sendOptions);
    const receipt = receipts[0] ?? { id: envelope.id, deduplicated: false };
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
      if (index > 0) draft.requestId = requestId;
      const envelope = identify(draft, id);
      requestId = envelope.requestId;
      envelopes.push(envelope);
    }
    checkOpen();
    const receipts: Receipt[] = [];
    for (const batch of cutBatches(envelopes)) {
      try {
        const accepted = await observeSends(batch, this.#publish, this.#sendOptions);
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
    const id = deriveId(this.#transport.service, `schedule:${schedule}`, String(dueAt));
    const draft = await ('type' in target ? this.draft(target, payload) : this.draftRun(target, payload));
    return identify(draft, id);
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

const noOptions: EmitOptions = {};

/** Computes the key from the stored payload after JSON, which is what the handler receives. */
function withKey(draft: Draft, source: KeySource): Draft {
  if (source.key !== undefined) draft.key = keyOf(source, JSON.parse(draft.body));
  return draft;
}

function withBody(draft: Draft, body: string): Draft {
  draft.body = body;
  return draft;
}

/** Sets the id. An event from outside belongs to the request that has its own id. */
function identify(draft: Draft, id: string): Envelope {
  draft.id = id;
  if (draft.requestId === '') draft.requestId = id;
  return draft;
}

/** Creates a draft with empty id, and with an empty `requestId` if neither the options nor a cause has one. */
function createDraft(
  type: string,
  body: string,
  options: EmitOptions,
  dedupeWindowMs: number,
  causedBy: Cause | undefined,
): Draft {
  const { delayMs = 0, priority = 0, dedupeId, requestId } = options;
  const cause = causedBy ?? causeOf(options);
  const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
  return {
    id: '',
    type,
    body,
    requestId: requestId ?? cause?.requestId ?? '',
    depth: cause === undefined ? 0 : cause.depth + 1,
    delayMs,
    priority,
    replays: 0,
    dedupe,
    trace: cause?.trace,
    key: undefined,
    causeId: cause?.id,
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
