import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import type { OperationDetails } from '../telemetry.js';
import {
  type AwaitedEvent,
  type CancelReason,
  type Envelope,
  type SqlTransaction,
  sizeOf,
  workflowOf,
  workflowType,
} from '../transports/delivery.js';
import { TransactionUnsupportedError, TransportUnavailableError } from '../transports/errors.js';
import type { RunRecord } from '../transports/event-record.js';
import type { Logger, Receipt, TransportManager } from '../transports/transport.js';
import { InvalidKeyError, PartialEmitError } from './errors.js';
import type { EventPublisher } from './events/attempt-ctx.js';
import {
  type Cause,
  checkEmitManyOptions,
  checkEmitOptions,
  Draft,
  type EmitManyOptions,
  type EmitOptions,
  type EventRef,
  type TransactionOption,
  type WorkflowRef,
} from './events/emit.js';
import {
  defaultDedupeWindowMs,
  type KeySource,
  keyOf,
  type Overlap,
  type RegisteredEvent,
  storedOverlap,
} from './events/event.js';
import { Snapshot, takeSnapshot } from './events/payload.js';
import { type PayloadSchema, toStoredBody } from './events/payload-schema.js';
import { type TaggedEvent, TagIndex, type TagSource, tagsOf } from './events/tags.js';
import type { HubSettings } from './hub-options.js';
import type { WorkflowServices } from './introspection/workflow-services.js';
import { observeSends } from './observability.js';
import type { Registry } from './registry.js';
import type { WorkflowContract } from './runs/define-workflow.js';
import { type RegisteredSchedule, scheduledId } from './schedules/schedule.js';
import type { ScheduledEvent } from './schedules/stored-schedule.js';

/** Bounds of one round trip of `emitMany`. */
const maxBatchEvents = 1_000;
const maxBatchBytes = 4 * 1024 * 1024;

/** Size of a payload that is stored as a reference. */
const referenceBytes = 128;

type PublisherSettings = Pick<HubSettings, 'maxPayloadBytes' | 'blobs' | 'blobsAboveBytes' | 'logger' | 'redactor'>;
type PublishingTransport = Pick<
  TransportManager,
  'name' | 'service' | 'nextTurn' | 'publish' | 'publishWithin' | 'log'
>;

/** Definition of the runs that are forked, or their type and service if this hub has not registered it. */
export type ForkSource = RegisteredEvent | WorkflowContract | { readonly type: string; readonly service: string };

/** Event type, or workflow, of a draft. */
interface DraftTarget {
  readonly type: string;
  /** Name in errors. */
  readonly name: string;
  /** Service of a run, if the run is for one alone. */
  readonly service?: string | undefined;
  /** Events that a run keeps. */
  readonly receives?: WorkflowContract['receives'];
  /** Events that cancel a run. */
  readonly cancelOn?: WorkflowContract['cancelOn'];
  readonly schema: PayloadSchema | undefined;
  readonly dedupeWindowMs: number;
  readonly keySource: KeySource;
}

/** Validates payloads and publishes events and workflow runs on a transport. */
export class Publisher implements EventPublisher {
  readonly service: string;
  readonly #registry: Registry;
  readonly #services: WorkflowServices;
  readonly #maxPayloadBytes: number;
  readonly #inlineBytes: number;
  readonly #logger: Logger;
  readonly #publish: TransportManager['publish'];
  readonly #transport: PublishingTransport;
  readonly #tags: TagIndex;
  readonly #sendOptions: Pick<OperationDetails, 'errorInfo'>;
  readonly #reportedTypes = new Set<string>();
  /** Events that are sent when their tags are stored. */
  readonly #sending = new Set<Promise<Receipt>>();

  constructor(
    transport: PublishingTransport,
    registry: Registry,
    services: WorkflowServices,
    { maxPayloadBytes, logger, redactor, ...settings }: PublisherSettings,
  ) {
    this.service = transport.service;
    this.#registry = registry;
    this.#services = services;
    this.#publish = (envelopes) => transport.publish(envelopes);
    this.#transport = transport;
    this.#tags = new TagIndex(transport.log);
    this.#sendOptions = { errorInfo: redactor.info };
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#inlineBytes = settings.blobs === undefined ? maxPayloadBytes : settings.blobsAboveBytes;
    this.#logger = logger;
  }

  /** Turn of the event loop to wait for before {@link send}; `undefined` if there is none to wait for. */
  get nextTurn(): Promise<void> | undefined {
    return this.#transport.nextTurn;
  }

  storedBytes(draft: Draft): number {
    const bytes = draft.size();
    return bytes > this.#inlineBytes ? referenceBytes : bytes;
  }

  draft(
    target: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Draft | Promise<Draft> {
    return this.#draftEvent(this.#registry.event(target), payload, options, cause);
  }

  draftRun(
    target: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Draft | Promise<Draft> {
    const found = this.#registry.startable(target, this.service);
    if (found === undefined) return this.#refuse(String(target));
    const { contract, registered } = found;
    if (registered === undefined && contract.service === undefined)
      return this.#draftElsewhere(contract, input, options, cause);
    return this.#draftStart(contract, contract.service, input, options, cause);
  }

  async #refuse(workflow: string): Promise<never> {
    throw await this.#services.unknownWorkflow(workflow, this.#registry.nearestWorkflows(workflow));
  }

  async #draftElsewhere(
    contract: WorkflowContract,
    input: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Promise<Draft> {
    return this.#draftStart(contract, await this.#services.serviceOf(contract.name), input, options, cause);
  }

  #draftEvent(event: RegisteredEvent, payload: unknown, options?: EmitOptions, cause?: Cause): Draft | Promise<Draft> {
    return this.#draft(eventTarget(event), payload, options, cause);
  }

  /** @param service service that alone receives the run; `undefined` for every one that subscribes to its type */
  #draftStart(
    workflow: WorkflowContract,
    service: string | undefined,
    input: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Draft | Promise<Draft> {
    return this.#draft(this.#runTarget(workflow, service), input, options, cause);
  }

  #runTarget(workflow: WorkflowContract, service: string | undefined): DraftTarget {
    const { name, input: schema, receives, cancelOn } = workflow;
    const keySource = this.#registry.keySourceOf(workflow);
    const type = workflowType(name);
    return { type, name, service, receives, cancelOn, schema, dedupeWindowMs: defaultDedupeWindowMs, keySource };
  }

  #draft(
    target: DraftTarget,
    payload: unknown,
    options: EmitOptions | undefined,
    cause: Cause | undefined,
  ): Draft | Promise<Draft> {
    const { name: type, schema } = target;
    if (options !== undefined) checkEmitOptions(options, cause !== undefined);
    const snapshot = takeSnapshot(payload, type, this.#maxPayloadBytes);
    if (schema === undefined) return this.#create(target, snapshot, options, cause);
    const { json: body } = snapshot;
    const stored = toStoredBody({ type, payload, body }, schema, this.#maxPayloadBytes);
    const create = (json: string): Draft =>
      this.#create(target, json === body ? snapshot : Snapshot.ofJson(json), options, cause);
    return stored instanceof Promise ? stored.then(create) : create(stored);
  }

  #create(
    { type, service, receives, cancelOn, dedupeWindowMs, keySource }: DraftTarget,
    payload: Snapshot,
    options: EmitOptions | undefined,
    cause: Cause | undefined,
  ): Draft {
    const draft = new Draft(type, payload, options ?? noOptions, dedupeWindowMs, cause);
    // Computed from what the handler receives, and apart from it: the function may change its argument.
    if (keySource.key !== undefined) draft.key = keyOf(keySource, payload.copy());
    const { type: name, tags } = keySource;
    if (tags !== undefined) draft.tags = tagsOf({ type: name, tags }, payload.copy());
    draft.overlap = keySource.overlap;
    if (service !== undefined) draft.service = service;
    if (receives !== undefined) draft.receives = receivedBy(keySource.type, receives, payload);
    if (cancelOn !== undefined) draft.cancelOn = cancelledBy(keySource.type, cancelOn, payload);
    return draft;
  }

  /**
   * Drafts an event that a run of any service waits for: by its definition if this hub has it.
   *
   * @param key key of the wait
   */
  draftAnswer(type: string, key: string, payload: unknown): Draft | Promise<Draft> {
    const event = this.#registry.findEvent(type);
    if (event?.key !== undefined) return this.#draftEvent(event, payload);
    const keySource = { type, key: () => key };
    return this.#draft(
      { type, name: type, schema: undefined, dedupeWindowMs: defaultDedupeWindowMs, keySource },
      payload,
      undefined,
      undefined,
    );
  }

  /**
   * Publishes a run that begins with what another one recorded: with its request, its priority and its input, unless there
   * is another one. Returns its id.
   *
   * @param input input in place of that of the other run
   */
  async sendFork(
    source: ForkSource,
    { id, envelope: origin }: Pick<RunRecord, 'id' | 'envelope'>,
    recorded: NonNullable<Envelope['recorded']>,
    input: { readonly value: unknown } | undefined,
  ): Promise<string> {
    const { type, requestId, depth, priority, body, key } = origin;
    // Beside its origin in the causal chain, and not one deeper.
    const cause = { id, requestId, depth: depth - 1, trace: undefined };
    const target = this.#forkTarget(source, { type, ...(key !== undefined && { key: () => key }) });
    const draft = await (input === undefined
      ? this.#create(target, Snapshot.ofJson(body), { priority }, cause)
      : this.#draft(target, input.value, { priority }, cause));
    const { service = this.service } = target;
    const envelope = draft.identify(randomUUID());
    const fork = { ...envelope, body: draft.body, service, recorded, overlap: undefined };
    await this.#index([envelope]);
    await this.nextTurn;
    await observeSends([fork], this.#publish, this.#sendOptions);
    return fork.id;
  }

  /** @param stored key of the origin */
  #forkTarget(source: ForkSource, stored: KeySource): DraftTarget {
    if (!('type' in source)) return this.#runTarget(source, this.service);
    if (!('service' in source)) return eventTarget(source);
    const { type, service } = source;
    const name = workflowOf(type) ?? type;
    return { type, name, service, schema: undefined, dedupeWindowMs: defaultDedupeWindowMs, keySource: stored };
  }

  index(envelopes: readonly Envelope[]): Promise<void> | undefined {
    const tagged = taggedOf(envelopes);
    return tagged.length === 0 ? undefined : this.#tryIndex(tagged);
  }

  async #tryIndex(tagged: readonly TaggedEvent[]): Promise<void> {
    try {
      await this.#tags.add(tagged);
    } catch (err) {
      const [first] = tagged.map(({ id, type, requestId }) => ({ eventId: id, eventType: type, requestId }));
      this.#logger.warn({ err, ...first, events: tagged.length }, 'events cannot be found by their tags');
    }
  }

  #index(envelopes: readonly Envelope[]): Promise<void> | undefined {
    const tagged = taggedOf(envelopes);
    return tagged.length === 0 ? undefined : this.#tags.add(tagged);
  }

  /**
   * Publishes an event or run. The caller waits for `nextTurn` before, so that no event pays for a promise of its own.
   * Synchronous if the transport is, and the event has no tags.
   */
  send(draft: Draft): Receipt | Promise<Receipt> {
    const envelope = draft.identify(randomUUID());
    // Before the event is accepted: a process that dies leaves none that nobody finds.
    const indexed = Draft.tagsOf(envelope) && this.#index([envelope]);
    if (indexed === undefined) return this.#send(envelope);
    const sent = indexed.then(() => this.#send(envelope));
    this.#sending.add(sent);
    const forget = (): boolean => this.#sending.delete(sent);
    sent.then(forget, forget);
    return sent;
  }

  /** Resolves when the events and runs that were to be sent one by one are sent. */
  async sent(): Promise<void> {
    await this.nextTurn;
    await Promise.allSettled(this.#sending);
  }

  #send(envelope: Envelope): Receipt | Promise<Receipt> {
    const sent = observeSends([envelope], this.#publish, this.#sendOptions);
    return sent instanceof Promise ? this.#receiptWhen(sent, envelope) : this.#receiptOf(envelope, sent);
  }

  /** Stores an event or run in a transaction of the caller. Returns its id. */
  async sendWithin(draft: Draft, tx: SqlTransaction): Promise<{ readonly id: string }> {
    const envelope = draft.identify(randomUUID());
    await this.#sendAllWithin([envelope], tx);
    return { id: envelope.id };
  }

  /** @throws {TransactionUnsupportedError} */
  async #sendAllWithin(envelopes: readonly Envelope[], tx: SqlTransaction): Promise<void> {
    const { name, publishWithin } = this.#transport;
    if (publishWithin === undefined) throw new TransactionUnsupportedError('emit with tx', name);
    // In the background: the caller may hold the only client of the pool.
    void this.index(envelopes);
    const publish = (batch: readonly Envelope[]): Promise<void> => publishWithin(tx, batch);
    for (const batch of cutBatches(envelopes)) await observeSends(batch, publish, this.#sendOptions);
  }

  async #receiptWhen(sent: Promise<readonly Receipt[]>, envelope: Envelope): Promise<Receipt> {
    try {
      return this.#receiptOf(envelope, await sent);
    } catch (error) {
      throw refusedEmit(error);
    }
  }

  #receiptOf(envelope: Envelope, [receipt]: readonly Receipt[]): Receipt {
    if (receipt?.unsubscribed === true) this.#reportUnsubscribed(envelope);
    return receipt ?? { id: envelope.id, deduplicated: false };
  }

  /**
   * Publishes several events of one type, cut into batches that a transport accepts at once; or stores them in a
   * transaction of the caller, and returns their ids.
   *
   * @param checkOpen throws if the hub no longer accepts events
   */
  async publishMany<T>(
    target: EventRef<T, unknown> | string,
    payloads: readonly T[],
    options: EmitManyOptions<T> & Partial<TransactionOption>,
    checkOpen: () => void,
  ): Promise<readonly { readonly id: string }[]> {
    const event = this.#registry.event(target);
    const envelopes = await this.#draftMany(event, payloads, options);
    checkOpen();
    if (options.tx !== undefined) {
      await this.#sendAllWithin(envelopes, options.tx);
      return envelopes.map(({ id }) => ({ id }));
    }
    const receipts: Receipt[] = [];
    await this.#index(envelopes);
    for (const batch of cutBatches(envelopes)) {
      await this.nextTurn;
      try {
        const accepted = await observeSends(batch, this.#publish, this.#sendOptions);
        receipts.push(...accepted);
        this.#reportUnsubscribed(batch[accepted.findIndex(({ unsubscribed }) => unsubscribed === true)]);
      } catch (failure) {
        const error = refusedEmit(failure);
        if (receipts.length === 0) throw error;
        throw new PartialEmitError(event.type, receipts.length, envelopes.length, error);
      }
    }
    return receipts;
  }

  async #draftMany<T>(
    event: RegisteredEvent,
    payloads: readonly T[],
    options: EmitManyOptions<T> & Partial<TransactionOption>,
  ): Promise<readonly Envelope[]> {
    if (!Array.isArray(payloads)) throw new InvalidOptionError('payloads of emitMany', 'an array', payloads);
    checkEmitManyOptions(options);
    const { dedupeId: dedupeIdOf, tx: _, ...shared } = options;
    const envelopes: Envelope[] = [];
    for (const [index, payload] of payloads.entries()) {
      const settings = dedupeIdOf === undefined ? shared : { ...shared, dedupeId: dedupeIdOf(payload, index) };
      const draft = await this.#draftEvent(event, payload, settings);
      envelopes.push(draft.identify(randomUUID()));
    }
    return envelopes;
  }

  /**
   * Creates the event, or the start of the run, of a due time of a schedule. Its id is the same in every process.
   * Rejects if the payload is invalid.
   */
  async prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope> {
    const { name, payload } = schedule;
    const target = this.#registry.targetOf(schedule);
    const value: unknown = typeof payload === 'function' ? payload(new Date(dueAt)) : payload;
    const id = scheduledId(this.service, name, dueAt);
    const draft = await ('type' in target
      ? this.#draftEvent(target, value)
      : this.#draftStart(target, target.service, value));
    if (schedule.overlap !== undefined) draft.overlap = storedOverlap(schedule.overlap);
    return draft.identify(id);
  }

  /**
   * Creates the event, or the start of the run, of a schedule that is set at run time, as it is stored.
   *
   * @throws the errors of `emit`
   */
  async draftStored(
    {
      emit,
      start,
    }: { readonly emit?: EventRef<never, unknown> | string; readonly start?: WorkflowRef<never> | string },
    payload: unknown,
    overlap: Overlap | undefined,
  ): Promise<ScheduledEvent> {
    const draft = await (start === undefined ? this.draft(emit ?? '', payload) : this.draftRun(start, payload));
    if (overlap !== undefined) draft.overlap = storedOverlap(overlap);
    const { type, body, key, service, receives, cancelOn } = draft;
    return { type, body, key, service, receives, cancelOn, overlap: draft.overlap, tags: Draft.tagsOf(draft) };
  }

  /** Creates the event of a due time of a schedule that was set at run time. */
  prepareStored({ type, body, key, service, receives, cancelOn, overlap, tags }: ScheduledEvent, id: string): Envelope {
    const draft = new Draft(type, Snapshot.ofJson(body), noOptions, defaultDedupeWindowMs, undefined);
    draft.key = key;
    draft.service = service;
    draft.receives = receives;
    draft.cancelOn = cancelOn;
    draft.overlap = overlap;
    if (tags !== undefined) draft.tags = tags;
    return draft.identify(id);
  }

  prepareFollowUps(envelopes: readonly Envelope[]): readonly Envelope[] | Promise<readonly Envelope[]> {
    if (envelopes.length === 0) return envelopes;
    const prepared: Envelope[] = [];
    const pending: Promise<void>[] = [];
    for (const [index, envelope] of envelopes.entries()) {
      const result = this.#prepareFollowUp(envelope);
      prepared[index] = result instanceof Promise ? envelope : result;
      if (result instanceof Promise) {
        const insert = (ready: Envelope): void => {
          prepared[index] = ready;
        };
        pending.push(result.then(insert));
      }
    }
    return pending.length === 0 ? prepared : Promise.all(pending).then(() => prepared);
  }

  #prepareFollowUp(envelope: Envelope): Envelope | Promise<Envelope> {
    const event = this.#registry.findEvent(envelope.type);
    if (event === undefined) return envelope;
    const { tags } = event;
    if (event.schema === undefined && event.key === undefined && tags === undefined) return envelope;
    const { type, body } = envelope;
    const finish = (stored: string): Envelope => {
      const key = keyOf(event, JSON.parse(stored));
      const keyed = key === undefined ? envelope : { ...envelope, key, overlap: event.overlap };
      const ready = { ...keyed, body: stored };
      if (tags !== undefined) this.#indexFollowUp(ready, { type, tags });
      return ready;
    };
    const keep = (err: unknown): Envelope => {
      if (InvalidKeyError.is(err)) {
        const { id, requestId } = envelope;
        this.#logger.warn({ err, eventId: id, eventType: type, requestId }, 'follow-up event has no valid key');
      }
      return envelope;
    };
    try {
      if (event.schema === undefined) return finish(body);
      const emitted = { type, payload: JSON.parse(body) as unknown, body };
      const stored = toStoredBody(emitted, event.schema, this.#maxPayloadBytes);
      return typeof stored === 'string' ? finish(stored) : stored.then(finish).catch(keep);
    } catch (error) {
      return keep(error);
    }
  }

  /** Adds a follow-up to the index while its cause ends: an outcome neither waits for the index nor fails with its tags. */
  #indexFollowUp(envelope: Envelope, source: Required<TagSource>): void {
    try {
      void this.#tryIndex([taggedEvent(envelope, tagsOf(source, JSON.parse(envelope.body)))]);
    } catch (err) {
      const { id, type, requestId } = envelope;
      this.#logger.warn({ err, eventId: id, eventType: type, requestId }, 'follow-up event has no valid tags');
    }
  }

  /** Warns once per type: the events count as completed, and nobody would notice. */
  #reportUnsubscribed(envelope: Envelope | undefined): void {
    if (envelope === undefined || this.#reportedTypes.has(envelope.type)) return;
    const { id, type, requestId } = envelope;
    this.#reportedTypes.add(type);
    this.#logger.warn(
      { eventType: type, eventId: id, requestId },
      'no service subscribes to the event type and no run waits for the event, so nobody receives it; name the services in subscribers to keep events until they start',
    );
  }
}

const noOptions: EmitOptions = {};

function eventTarget(event: RegisteredEvent): DraftTarget {
  const { type, schema, dedupeWindowMs } = event;
  return { type, name: type, schema, dedupeWindowMs, keySource: event };
}

/** Returns the error of a publication, which says how to repeat an emit. */
function refusedEmit(error: unknown): unknown {
  return error instanceof TransportUnavailableError ? error.ofEmit() : error;
}

/** Returns the events that have tags: those of most types have none. */
function taggedOf(envelopes: readonly Envelope[]): readonly TaggedEvent[] {
  return envelopes.flatMap((envelope) => {
    const tags = Draft.tagsOf(envelope);
    return tags === undefined ? [] : taggedEvent(envelope, tags);
  });
}

function taggedEvent({ id, type, requestId, key }: Envelope, tags: readonly string[]): TaggedEvent {
  return { id, type, requestId, key, tags };
}

/** Returns the events that a run keeps. @throws {InvalidKeyError} */
function receivedBy(
  workflow: string,
  receives: NonNullable<WorkflowContract['receives']>,
  input: Snapshot,
): readonly AwaitedEvent[] {
  return receives.flatMap(({ type, key: compute }) => {
    const key = awaitedKey(workflow, compute, input);
    return key === undefined ? [] : [{ type, key }];
  });
}

/** Returns the reasons to cancel a run. @throws {InvalidKeyError} */
function cancelledBy(
  workflow: string,
  cancelOn: NonNullable<WorkflowContract['cancelOn']>,
  input: Snapshot,
): readonly CancelReason[] {
  return cancelOn.flatMap(({ type, key: compute, when }) => {
    const key = compute && awaitedKey(workflow, compute, input);
    if (compute !== undefined && key === undefined) return [];
    return [{ type, key, ...(when !== undefined && { isJudged: true }) }];
  });
}

function awaitedKey(workflow: string, compute: (input: never) => unknown, input: Snapshot): string | undefined {
  // The schema, or the caller's claim, ensures that the input has the parameter's type.
  return keyOf({ type: workflow, key: compute as (input: unknown) => unknown }, input.copy());
}

function* cutBatches(envelopes: readonly Envelope[]): Iterable<readonly Envelope[]> {
  let batch: Envelope[] = [];
  let bytes = 0;
  for (const envelope of envelopes) {
    const size = sizeOf(envelope);
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
