import { quote } from '../../../errors.js';
import { deriveId } from '../../../transports/derive-id.js';
import type { Envelope } from '../../../transports/transport.js';
import { AttemptEndedError, EmitLimitError } from '../../errors.js';
import type { EventRef } from '../../references/event-ref.js';
import type { WorkflowRef } from '../../references/workflow-ref.js';
import type { CtxStartWorkflow } from '../context.js';
import type { Cause, Draft } from '../draft.js';
import type { CtxEmit, EmitOptions } from '../emit.js';

/** Maximum number of events that one outcome or one step emits. */
const maxEmits = 1_000;

/** Maximum size of the payloads that one outcome or one step emits, in bytes of UTF-8. */
const maxEmitBytes = 4 * 1_024 * 1_024;

/** Validates payloads. Synchronous unless a schema is asynchronous. */
export interface DraftSource {
  /** Connection of the service that emits. */
  readonly transport: { readonly service: string };
  /** @throws all that `emit` throws for its arguments */
  draftEvent(
    cause: Cause,
    event: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
  ): Draft | Promise<Draft>;
  /** @throws all that `startWorkflow` throws for its arguments */
  draftRun(
    cause: Cause,
    workflow: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
  ): Draft | Promise<Draft>;
}

const none: readonly Envelope[] = [];

/**
 * Collects what one attempt emits. The transport accepts it together with the attempt's outcome or the step's result.
 * Ids derive from the cause and from the order of the calls.
 */
export class AttemptEmitter {
  readonly #source: DraftSource;
  readonly #cause: Cause;
  readonly #place: string;
  #envelopes: Envelope[] | undefined;
  #bytes = 0;
  #isClosed = false;

  /** @param place prefix of the derived ids, unique among the events of the cause */
  constructor(source: DraftSource, cause: Cause, place: string) {
    this.#source = source;
    this.#cause = cause;
    this.#place = place;
  }

  readonly emit: CtxEmit = async (
    event: EventRef<never, unknown> | string,
    payload: unknown,
    options?: EmitOptions,
  ) => {
    this.#checkOpen('ctx.emit');
    const draft = this.#source.draftEvent(this.#cause, event, payload, options);
    // Without the await of an asynchronous schema, an event counts even if the handler does not await its emit.
    return { id: this.#add('ctx.emit', draft instanceof Promise ? await draft : draft) };
  };

  readonly startWorkflow: CtxStartWorkflow = async (
    workflow: WorkflowRef<never> | string,
    input: unknown,
    options?: EmitOptions,
  ) => {
    this.#checkOpen('ctx.startWorkflow');
    const draft = this.#source.draftRun(this.#cause, workflow, input, options);
    return { runId: this.#add('ctx.startWorkflow', draft instanceof Promise ? await draft : draft) };
  };

  /** Refuses further events and returns the collected ones. */
  close(): readonly Envelope[] {
    this.#isClosed = true;
    const envelopes = this.#envelopes ?? none;
    this.#envelopes = undefined;
    return envelopes;
  }

  #checkOpen(operation: string): void {
    if (this.#isClosed) throw new AttemptEndedError(operation);
  }

  #add(operation: string, draft: Draft): string {
    this.#checkOpen(operation);
    this.#envelopes ??= [];
    const number = this.#envelopes.length;
    const bytes = this.#bytes + draft.size();
    if (number >= maxEmits) throw new EmitLimitError(quote(draft.type), `${maxEmits} events`);
    if (bytes > maxEmitBytes) throw new EmitLimitError(quote(draft.type), `${maxEmitBytes} bytes of payloads`);
    this.#bytes = bytes;
    const id = deriveId(this.#source.transport.service, this.#cause.id, `${this.#place}${number}`);
    this.#envelopes.push(draft.identify(id));
    return id;
  }
}
