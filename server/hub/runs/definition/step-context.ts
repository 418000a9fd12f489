import type { DurablePlace } from '../../events/agent-support/durable-place.js';
import type { AttemptEmitter } from '../../events/attempts/attempt-emitter.js';
import { type ContextFields, type ContextHost, HandlerContext } from '../../events/attempts/handler-context.js';
import type { StepCtx, StepRunCtx, WorkflowProgress } from './step.js';

/** Payload and progress that a step of a list receives. */
export interface StepView {
  /** JSON of the payload. */
  readonly payload: string;
  /** JSON of each earlier step's output by step name. */
  readonly outputs: ReadonlyMap<string, string>;
}

/** Run and step that a context belongs to. */
export interface StepIdentity {
  readonly workflow: string;
  readonly runId: string;
  readonly step: string;
  /** JSON of the run's input. */
  readonly body: string;
  readonly view: StepView | undefined;
}

/** Context of one attempt at a step. */
export class StepContext extends HandlerContext implements StepCtx, StepRunCtx {
  readonly step: string;
  readonly runId: string;
  readonly workflow: WorkflowProgress;

  constructor(
    fields: ContextFields,
    emitter: AttemptEmitter,
    host: ContextHost,
    identity: StepIdentity,
    place?: DurablePlace,
  ) {
    super(fields, emitter, host, place);
    this.step = identity.step;
    this.runId = identity.runId;
    this.workflow = new LazyProgress(identity);
  }

  protected override get logFields(): object {
    const { requestId, eventType, runId, step, attempt } = this;
    return { requestId, workflow: eventType, runId, step, attempt };
  }
}

/** Parses `input` and `outputs` on first access, per attempt: a handler may change what it receives. */
class LazyProgress implements WorkflowProgress {
  readonly #identity: StepIdentity;
  #input: { readonly value: unknown } | undefined;
  #outputs: Record<string, unknown> | undefined;

  constructor(identity: StepIdentity) {
    this.#identity = identity;
  }

  get name(): string {
    return this.#identity.workflow;
  }

  get runId(): string {
    return this.#identity.runId;
  }

  get step(): string {
    return this.#identity.step;
  }

  get input(): unknown {
    this.#input ??= { value: JSON.parse(this.#identity.body) };
    return this.#input.value;
  }

  get outputs(): Readonly<Record<string, unknown>> {
    if (this.#outputs === undefined) {
      const outputs: Record<string, unknown> = Object.create(null);
      for (const [step, json] of this.#identity.view?.outputs ?? []) outputs[step] = JSON.parse(json);
      this.#outputs = outputs;
    }
    return this.#outputs;
  }
}
