import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import type { OperationDetails } from '../telemetry.js';
import { type AwaitedEvent, type Envelope, sizeOf, workflowType } from '../transports/delivery.js';
import { deriveId } from '../transports/derived-ids.js';
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
  type WorkflowRef,
} from './events/emit.js';
import { defaultDedupeWindowMs, type KeySource, keyOf, type RegisteredEvent } from './events/event.js';
import { Snapshot, takeSnapshot } from './events/payload.js';
import { type PayloadSchema, toStoredBody } from './events/payload-schema.js';
import type { HubSettings } from './hub-options.js';
import type { WorkflowServices } from './introspection/workflow-services.js';
import { observeSends } from './observability.js';
import type { Registry } from './registry.js';
import type { WorkflowContract } from './runs/define-workflow.js';
import type { RegisteredSchedule } from './schedules/schedule.js';

/** Bounds of one round trip of `emitMany`. */
const maxBatchEvents = 1_000;
const maxBatchBytes = 4 * 1024 * 1024;

/** Event type, or workflow, of a draft. */
interface DraftTarget {
  readonly type: string;
  /** Name in errors. */
  readonly name: string;
  /** Service of a run, if the run is for one alone. */
  readonly service?: string | undefined;
  /** Events that a run keeps. */
  readonly receives?: WorkflowContract['receives'];
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
  readonly #logger: Logger;
  readonly #publish: TransportManager['publish'];
  readonly #sendOptions: Pick<OperationDetails, 'errorInfo'>;
  readonly #reportedTypes = new Set<string>();

  constructor(
    transport: Pick<TransportManager, 'service' | 'publish'>,
    registry: Registry,
    services: WorkflowServices,
    { maxPayloadBytes, logger, redactor }: Pick<HubSettings, 'maxPayloadBytes' | 'logger' | 'redactor'>,
  ) {
    this.service = transport.service;
    this.#registry = registry;
    this.#services = services;
    this.#publish = (envelopes) => transport.publish(envelopes);
    this.#sendOptions = { errorInfo: redactor.info };
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#logger = logger;
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
    const { type, schema, dedupeWindowMs } = event;
    return this.#draft({ type, name: type, schema, dedupeWindowMs, keySource: event }, payload, options, cause);
  }

  /** @param service service that alone receives the run; `undefined` for every one that subscribes to its type */
  #draftStart(
    workflow: WorkflowContract,
    service: string | undefined,
    input: unknown,
    options?: EmitOptions,
    cause?: Cause,
  ): Draft | Promise<Draft> {
    const { name, input: schema, receives } = workflow;
    const target = {
      type: workflowType(name),
      name,
      service,
      receives,
      schema,
      dedupeWindowMs: defaultDedupeWindowMs,
      keySource: this.#registry.keySourceOf(workflow),
    };
    return this.#draft(target, input, options, cause);
  }

  #draft(
    target: DraftTarget,
    payload: unknown,
    options: EmitOptions | undefined,
    cause: Cause | undefined,
  ): Draft | Promise<Draft> {
    const { name: type, schema } = target;
    if (options !== undefined) checkEmitOptions(options);
    const snapshot = takeSnapshot(payload, type, this.#maxPayloadBytes);
    if (schema === undefined) return this.#create(target, snapshot, options, cause);
    const { json: body } = snapshot;
    const stored = toStoredBody({ type, payload, body }, schema, this.#maxPayloadBytes);
    const create = (json: string): Draft =>
      this.#create(target, json === body ? snapshot : Snapshot.ofJson(json), options, cause);
    return stored instanceof Promise ? stored.then(create) : create(stored);
  }

  #create(
    { type, service, receives, dedupeWindowMs, keySource }: DraftTarget,
    payload: Snapshot,
    options: EmitOptions | undefined,
    cause: Cause | undefined,
  ): Draft {
    const draft = new Draft(type, payload, options ?? noOptions, dedupeWindowMs, cause);
    // Computed from what the handler receives, and apart from it: the function may change its argument.
    if (keySource.key !== undefined) draft.key = keyOf(keySource, payload.copy());
    if (service !== undefined) draft.service = service;
    if (receives !== undefined) draft.receives = receivedBy(keySource.type, receives, payload);
    return draft;
  }

  /** Publishes an event or run. Synchronous if the transport is. */
  send(draft: Draft): Receipt | Promise<Receipt> {
    const envelope = draft.identify(randomUUID());
    const sent = observeSends([envelope], this.#publish, this.#sendOptions);
    return sent instanceof Promise ? this.#receiptWhen(sent, envelope) : this.#receiptOf(envelope, sent);
  }

  async #receiptWhen(sent: Promise<readonly Receipt[]>, envelope: Envelope): Promise<Receipt> {
    return this.#receiptOf(envelope, await sent);
  }

  #receiptOf(envelope: Envelope, [receipt]: readonly Receipt[]): Receipt {
    if (receipt?.unsubscribed === true) this.#reportUnsubscribed(envelope);
    return receipt ?? { id: envelope.id, deduplicated: false };
  }

  /**
   * Publishes several events of one type, cut into batches that a transport accepts at once.
   *
   * @param checkOpen throws if the hub no longer accepts events
   */
  async publishMany<T>(
    target: EventRef<T, unknown> | string,
    payloads: readonly T[],
    options: EmitManyOptions<T>,
    checkOpen: () => void,
  ): Promise<readonly Receipt[]> {
    const event = this.#registry.event(target);
    if (!Array.isArray(payloads)) throw new InvalidOptionError('payloads of emitMany', 'an array', payloads);
    checkEmitManyOptions(options);
    const { dedupeId: dedupeIdOf, ...shared } = options;
    let requestId = '';
    const envelopes: Envelope[] = [];
    for (const [index, payload] of payloads.entries()) {
      const settings = dedupeIdOf === undefined ? shared : { ...shared, dedupeId: dedupeIdOf(payload, index) };
      const draft = await this.#draftEvent(event, payload, settings);
      const id = randomUUID();
      if (index > 0) draft.requestId = requestId;
      const envelope = draft.identify(id);
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

  /**
   * Creates the event, or the start of the run, of a due time of a schedule. Its id is the same in every process.
   * Rejects if the payload is invalid.
   */
  async prepareScheduled(schedule: RegisteredSchedule, dueAt: number): Promise<Envelope> {
    const { name, payload } = schedule;
    const target = this.#registry.targetOf(schedule);
    const value: unknown = typeof payload === 'function' ? payload(new Date(dueAt)) : payload;
    const id = deriveId(this.service, `schedule:${name}`, String(dueAt));
    const draft = await ('type' in target
      ? this.#draftEvent(target, value)
      : this.#draftStart(target, target.service, value));
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
    if (event === undefined || (event.schema === undefined && event.key === undefined)) return envelope;
    const { type, body } = envelope;
    const finish = (stored: string): Envelope => {
      const key = keyOf(event, JSON.parse(stored));
      return key === undefined ? { ...envelope, body: stored } : { ...envelope, body: stored, key };
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

/** Returns the events that a run keeps. @throws {InvalidKeyError} */
function receivedBy(
  workflow: string,
  receives: NonNullable<WorkflowContract['receives']>,
  input: Snapshot,
): readonly AwaitedEvent[] {
  return receives.flatMap(({ type, key: compute }) => {
    // The schema, or the caller's claim, ensures that the input has the parameter's type.
    const key = keyOf({ type: workflow, key: compute as (input: unknown) => unknown }, input.copy());
    return key === undefined ? [] : [{ type, key }];
  });
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
