import type { Delivery, RunWait, WaitResolution } from '../../transports/delivery.js';
import type { StepFailedError } from '../errors.js';
import type { HandlerHost } from '../events/attempt-ctx.js';
import type { StepResult, TurnScope } from '../events/durable-place.js';
import type { EventRef, WorkflowRef } from '../events/emit.js';
import type { TurnFacts } from '../events/reported-agents.js';
import type { TurnKind } from './run-entry.js';
import type { Replay, StepRequest } from './run-replay.js';
import type { ResolvedStepOptions, StepAttemptCtx } from './step.js';
import type { AnyWorkflow, RunDefinition } from './workflow.js';

/** Step of a workflow that runs a function. */
export interface AttemptedStep extends StepRequest {
  readonly kind: 'run' | 'emit';
  readonly options: ResolvedStepOptions;
  /** Present on a step that contains other steps and has ended: `call` returns its result. */
  readonly contained?: ContainedSteps | undefined;
  call(ctx: StepAttemptCtx): unknown;
}

/** Step of an agent. */
export interface TurnStep extends StepRequest {
  readonly kind: TurnKind;
  /** Facts for introspection. */
  readonly turn: TurnFacts | undefined;
  /** Receives a failure, which is then not recorded. `undefined` if failures are recorded. */
  readonly reject: ((error: unknown) => void) | undefined;
  /** Result of the attempt of this delivery. */
  result: StepResult | undefined;
  call(scope: TurnScope): StepResult | Promise<StepResult>;
}

/** Attempt at a step that contains other steps. */
export interface ContainedSteps {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly startedMonotonic: number;
  /** The attempt is recorded: another one needs a new delivery, which replays the steps that the step contains. */
  isOver: boolean;
}

/** Step that waits: for time, for an event, or for a child run. */
export interface WaitingStep extends StepRequest {
  readonly kind: 'sleep' | 'event' | 'invoke' | 'approval';
  /** Creates the wait that the transport stores under `key`. */
  createWait(key: string): RunWait | Promise<RunWait>;
}

/** Waits for a step that only the transport can resolve. */
export type WaitForStep = (
  kind: WaitingStep['kind'],
  id: string,
  createWait: (key: string) => RunWait | Promise<RunWait>,
) => Promise<WaitResolution>;

/** Step that a run's function asked for. */
export type RequestedStep = AttemptedStep | TurnStep | WaitingStep;

/** Returns `true` for a step of a workflow that runs a function. */
export function isAttempted(step: RequestedStep): step is AttemptedStep {
  return step.kind === 'run' || step.kind === 'emit';
}

/** Returns `true` for a step of an agent. */
export function isTurn(step: RequestedStep): step is TurnStep {
  return step.kind === 'model' || step.kind === 'tool' || step.kind === 'request' || step.kind === 'memory';
}

/** Run whose function asks for steps. */
export interface SteppedRun {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: RunHost;
  readonly replay: Replay<RequestedStep>;
  /** Input of the run as its function receives it. */
  readonly input: unknown;
  /** Adds a step that the function asks for. */
  request(step: RequestedStep): void;
  /** Adds a patch whose answer is recorded before the next step starts. */
  addPatch(id: string): void;
  /** Records an entry that no step waits for. */
  record(key: string, value: string): Promise<void> | undefined;
  /** Keeps the run in this process, and its function at rest, until the returned function is called. */
  hold(): () => void;
  /** Calls `leave` when the run leaves this process, with the reason if it is aborted. */
  onLeave(leave: (reason?: Error) => void): void;
  /** The run has left this process. */
  readonly isOver: boolean;
  /** Remembers which step an error came from: if it ends the run, a replay of the dead letter runs that step again. */
  failed(step: StepRequest, error: StepFailedError): void;
}

/** The part of the hub that advancing a run needs. */
export interface RunHost extends HandlerHost {
  readonly registry: {
    /** Returns a registered event. @throws {UnknownEventError} */
    event(event: EventRef<never, unknown> | string): { readonly type: string };
    /** Returns a registered workflow. @throws {UnknownWorkflowError} */
    workflow(workflow: WorkflowRef<never> | string): AnyWorkflow;
  };
}
