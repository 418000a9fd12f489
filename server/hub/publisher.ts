import { randomUUID } from 'node:crypto';
import type { Redactor } from '../redactor.js';
import type { Envelope, Receipt, TransportManager } from '../transports/transport.js';
import { workflowType } from '../transports/workflow-type.js';
import { SchemaValidationError } from './errors.js';
import { checkEmitOptions, type EmitOptions } from './events/emit.js';
import { defaultDedupeWindowMs, type RegisteredEvent } from './events/event.js';
import { encodePayload } from './events/payload.js';
import { observeSends } from './observability/observe-sends.js';
import type { HubWorkflow } from './runs/workflow.js';

/** Validates payloads and publishes events and workflow runs on a transport. */
export class Publisher {
  readonly #transport: TransportManager;
  readonly #redactor: Redactor;
  readonly #maxPayloadBytes: number;

  constructor(transport: TransportManager, maxPayloadBytes: number, redactor: Redactor) {
    this.#transport = transport;
    this.#redactor = redactor;
    this.#maxPayloadBytes = maxPayloadBytes;
  }

  /**
   * Publishes an event.
   *
   * @param checkOpen throws if the hub no longer accepts the event; called after a schema, which may take time
   * @param cause envelope of the causing event
   */
  async publish(
    event: RegisteredEvent,
    payload: unknown,
    options: EmitOptions | undefined,
    checkOpen: () => void,
    cause: Envelope | undefined,
  ): Promise<Receipt> {
    const { type, schema, dedupeWindowMs } = event;
    if (options !== undefined) checkEmitOptions(options);
    const body = encodePayload(payload, type, this.#maxPayloadBytes);
    if (schema !== undefined) {
      // The handler receives the payload after JSON, so that is the value to validate.
      const result = await schema.validate(JSON.parse(body));
      if (result.issues !== undefined) {
        throw new SchemaValidationError(type, result.issues, schema.publicPaths(result.issues));
      }
      checkOpen();
    }
    return this.#send(type, body, options, dedupeWindowMs, cause);
  }

  /** Publishes the start of a workflow run. */
  async publishRun({ name }: HubWorkflow, payload: unknown, options: EmitOptions): Promise<Receipt> {
    checkEmitOptions(options);
    const body = encodePayload(payload, name, this.#maxPayloadBytes);
    return this.#send(workflowType(name), body, options, defaultDedupeWindowMs, undefined);
  }

  async #send(
    type: string,
    body: string,
    options: EmitOptions | undefined,
    dedupeWindowMs: number,
    cause: Envelope | undefined,
  ): Promise<Receipt> {
    const id = randomUUID();
    const { delayMs = 0, priority = 0, dedupeId, requestId = cause?.requestId ?? id } = options ?? {};
    const depth = cause === undefined ? 0 : cause.depth + 1;
    const dedupe = dedupeId === undefined ? undefined : { id: dedupeId, windowMs: dedupeWindowMs };
    const trace = cause?.trace;
    const envelope: Envelope = { id, type, body, requestId, depth, delayMs, priority, replays: 0, dedupe, trace };
    const publish = (sent: readonly Envelope[]): Promise<readonly Receipt[]> => this.#transport.publish(sent);
    const { info: errorInfo } = this.#redactor;
    const [receipt = { id, deduplicated: false }] = await observeSends([envelope], publish, { errorInfo });
    return receipt;
  }
}
