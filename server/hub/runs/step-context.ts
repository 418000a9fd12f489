import type { Delivery } from '../../transports/transport.js';
import { HandlerContext } from '../events/handler-context.js';
import type { HandlerHost } from '../events/outcome-recorder.js';
import type { HubWorkflow, ResolvedStep, StepCtx, WorkflowProgress } from './workflow.js';

/** Progress of a run. */
export interface RunState {
  readonly delivery: Delivery;
  /** Attempt at the step, from 1. */
  readonly attempt: number;
  /** Outputs of completed steps, as JSON. */
  readonly outputs: ReadonlyMap<string, string>;
}

/** Context of one attempt at a step. */
export class StepContext extends HandlerContext implements StepCtx {
  readonly workflow: WorkflowProgress;

  constructor(workflow: HubWorkflow, step: ResolvedStep, { delivery, attempt, outputs }: RunState, host: HandlerHost) {
    const { id, requestId, depth, body } = delivery.envelope;
    const previous = [...outputs.values()].at(-1) ?? body;
    const fields = {
      requestId,
      eventType: workflow.name,
      eventId: id,
      payload: JSON.parse(previous) as unknown,
      attempt,
      depth,
      idempotencyKey: `${host.transport.service}:${id}:${step.name}`,
    };
    super(fields, host.emitFrom(delivery.envelope), host.logger);
    this.workflow = new Progress(workflow.name, id, step.name, body, new Map(outputs));
  }
}

// Parsed on first access and per attempt, so that no handler sees another handler's changes.
class Progress implements WorkflowProgress {
  readonly name: string;
  readonly runId: string;
  readonly step: string;
  readonly #body: string;
  readonly #json: ReadonlyMap<string, string>;
  #input: { readonly value: unknown } | undefined;
  #outputs: Record<string, unknown> | undefined;

  constructor(name: string, runId: string, step: string, body: string, json: ReadonlyMap<string, string>) {
    this.name = name;
    this.runId = runId;
    this.step = step;
    this.#body = body;
    this.#json = json;
  }

  get input(): unknown {
    this.#input ??= { value: JSON.parse(this.#body) };
    return this.#input.value;
  }

  get outputs(): Readonly<Record<string, unknown>> {
    if (this.#outputs === undefined) {
      const outputs: Record<string, unknown> = Object.create(null);
      for (const [step, json] of this.#json) outputs[step] = JSON.parse(json);
      this.#outputs = outputs;
    }
    return this.#outputs;
  }
}
