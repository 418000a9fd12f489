import { randomUUID } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import { deriveId } from '../transports/derive-id.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { PartialEmitError, SchemaValidationError } from './errors.js';
import type { Cause, Draft } from './events/attempt-emitter.js';
import { checkEmitManyOptions, checkEmitOptions, type EmitManyOptions, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type RegisteredEvent } from './events/event.js';
import { keyOf } from './events/event-key.js';
import { encodePayload } from './events/payload.js';
import type { PayloadSchema, SchemaResult } from './events/schema.js';
import { observeSends } from './observability/observe-sends.js';
import type { AnyWorkflow } from './runs/workflow.js';

/** Bounds of one round trip of `emitMany`. */
const maxBatchEvents = 1_000;
const maxBatchBytes = 4 * 1024 * 1024;

/** Validates payloads and publishes events and workflow runs on a transport. */
export class Publisher {
  readonly #transport: TransportManager;
  readonly #maxPayloadBytes: number;

  constructor(transport: TransportManager, maxPayloadBytes: number) {
    this.#transport = transport;
    this.#maxPayloadBytes = maxPayloadBytes;
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
    return checkBody(draft, event, schema);
  }

  /** Checks the input of a run and returns the run without an id. Synchronous unless the schema is asynchronous. */
  draftRun(workflow: AnyWorkflow, input: unknown, options: EmitOptions = {}, cause?: Cause): Draft | Promise<Draft> {
    const { name, input: schema } = workflow;
    checkEmitOptions(options);
    const body = encodePayload(input, name, this.#maxPayloadBytes);
    const type = workflowType(name);
    const draft = createDraft(type, body, options, defaultDedupeWindowMs, cause ?? causeOf(options));
    return schema === undefined ? draft : this.#checkInput(draft, name, schema);
  }

  /** Publishes a checked event or run. */
  async send(draft: Draft): Promise<Receipt> {
    const id = randomUUID();
    const envelope = { ...draft, id, requestId: draft.requestId === '' ? id : draft.requestId };
    const [receipt = { id, deduplicated: false }] = await observeSends([envelope], (sent) =>
      this.#transport.publish(sent),
    );
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
      const draft = this.draft(event, payload, settings);
      const checked: Draft = draft instanceof Promise ? await draft : draft;
      const id = randomUUID();
      if (index === 0) requestId = checked.requestId === '' ? id : checked.requestId;
      envelopes.push({ ...checked, id, requestId });
    }
    checkOpen();
    const receipts: Receipt[] = [];
    for (const batch of cutBatches(envelopes)) {
      try {
        receipts.push(...(await observeSends(batch, (sent) => this.#transport.publish(sent))));
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

  /** The output of the schema is stored, and every delivery of the run receives it. */
  async #checkInput(draft: Draft, name: string, schema: PayloadSchema): Promise<Draft> {
    const { body } = draft;
    const result = await schema.validate(JSON.parse(body));
    if (result.issues !== undefined) throw new SchemaValidationError(name, result.issues);
    return { ...draft, body: encodePayload(result.value, name, this.#maxPayloadBytes, 'input') };
  }
}

/** Validates the payload as the handler receives it, which is after JSON, and computes the key from the result. */
function checkBody(draft: Draft, event: RegisteredEvent, schema: PayloadSchema | undefined): Draft | Promise<Draft> {
  if (schema === undefined) return event.key === undefined ? draft : withKey(draft, event, JSON.parse(draft.body));
  const check = (result: SchemaResult): Draft => {
    if (result.issues !== undefined) throw new SchemaValidationError(event.type, result.issues);
    return withKey(draft, event, result.value);
  };
  const result = schema.validate(JSON.parse(draft.body));
  return result instanceof Promise ? result.then(check) : check(result);
}

function withKey(draft: Draft, event: RegisteredEvent, payload: unknown): Draft {
  const key = keyOf(event, payload);
  return key === undefined ? draft : { ...draft, key };
}

/** An event from outside belongs to the request that has its own id: {@link Publisher.send} fills that in. */
function createDraft(
  type: string,
  body: string,
  { delayMs = 0, priority = 0, dedupeId, requestId }: EmitOptions,
  dedupeWindowMs: number,
  cause: Cause | undefined,
): Draft {
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
