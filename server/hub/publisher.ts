import { randomUUID } from 'node:crypto';
import type { Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { SchemaValidationError } from './errors.js';
import type { Cause, Draft } from './events/attempt-emitter.js';
import { checkEmitOptions, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type RegisteredEvent } from './events/event.js';
import { encodePayload } from './events/payload.js';
import type { PayloadSchema, SchemaResult } from './events/schema.js';
import { observeSends } from './observability/observe-sends.js';
import type { AnyWorkflow } from './runs/workflow.js';

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
    // The handler receives the payload after JSON, so that is the value to validate.
    return schema === undefined ? draft : checkBody(draft, type, schema);
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

  /** The output of the schema is stored, and every delivery of the run receives it. */
  async #checkInput(draft: Draft, name: string, schema: PayloadSchema): Promise<Draft> {
    const { body } = draft;
    const result = await schema.validate(JSON.parse(body));
    if (result.issues !== undefined) throw new SchemaValidationError(name, result.issues);
    return { ...draft, body: encodePayload(result.value, name, this.#maxPayloadBytes, 'input') };
  }
}

function checkBody(draft: Draft, type: string, schema: PayloadSchema): Draft | Promise<Draft> {
  const check = (result: SchemaResult): Draft => {
    if (result.issues !== undefined) throw new SchemaValidationError(type, result.issues);
    return draft;
  };
  const result = schema.validate(JSON.parse(draft.body));
  return result instanceof Promise ? result.then(check) : check(result);
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
