import type { Delivery, RunWait } from '../../transports/transport.js';
import type { HandlerHost } from '../events/outcome-recorder.js';
import type { StepFailedError } from './errors.js';
import type { Replay, StepRequest } from './replay.js';
import type { ResolvedStepOptions } from './run-scope.js';
import type { StepContext } from './step-context.js';
import type { AnyWorkflow } from './workflow.js';

/** Step that an attempt runs. */
export interface AttemptedStep extends StepRequest {
  readonly kind: 'run' | 'emit';
  readonly options: ResolvedStepOptions;
  call(ctx: StepContext): unknown;
}

/** Step that waits: for time, for an event, or for a child run. */
export interface WaitingStep extends StepRequest {
  readonly kind: 'sleep' | 'event' | 'invoke';
  /** Creates the wait that the transport stores under `key`. */
  createWait(key: string): RunWait | Promise<RunWait>;
}

/** Step that a run's function asked for. */
export type RequestedStep = AttemptedStep | WaitingStep;

/** Run whose function asks for steps. */
export interface StepHost {
  readonly workflow: AnyWorkflow;
  readonly delivery: Delivery;
  readonly host: HandlerHost;
  readonly replay: Replay<RequestedStep>;
  /** Input of the run as its function receives it. */
  readonly input: unknown;
  /** Adds a step that the function asks for. */
  request(step: RequestedStep): void;
  /** Adds a patch whose answer is recorded before the next step starts. */
  addPatch(id: string): void;
  /** Remembers which step an error came from: if it ends the run, a replay of the dead letter runs that step again. */
  failed(step: StepRequest, error: StepFailedError): void;
}
