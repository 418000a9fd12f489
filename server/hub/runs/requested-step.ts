import type { Delivery, RunWait } from '../../transports/delivery.js';
import type { RunStore } from '../../transports/transport.js';
import type { StepFailedError } from '../errors.js';
import type { HandlerHost } from '../events/attempt-ctx.js';
import type { RecordOptions, StepResult, StepScope } from '../events/durable-place.js';
import type { EventRef, WorkflowRef } from '../events/emit.js';
import type { LiveOutput } from '../events/live-output.js';
import type { AttemptedKind } from './run-entry.js';
import type { FailedAttempt, Replay, StepRequest } from './run-replay.js';
import type { StepAttemptCtx, StepView } from './step.js';
import type { AnyWorkflow, RunDefinition } from './workflow.js';

/** Step that runs a function of this process. */
export interface AttemptedStep extends StepRequest {
  readonly kind: AttemptedKind;
  readonly options: AttemptOptions;
  /** Receives a failure, which is then not recorded. `undefined` if failures are recorded. */
  readonly reject: ((error: unknown) => void) | undefined;
  /** Result of the attempt of this delivery, if it has facts or need not be parsed again. */
  result: StepResult | undefined;
  call(scope: AttemptScope): unknown;
}

/** Part of an attempt that the function of a step can use. */
export interface AttemptScope extends StepScope {
  /** Context of a user's function. */
  readonly ctx: StepAttemptCtx;
}

/** Options of a step that runs a function. */
export interface AttemptOptions extends RecordOptions {
  /** Payload and progress that a step of a list receives. */
  readonly view?: StepView | undefined;
  /** Present on a step that contains other steps and has ended: its function returns its result. */
  readonly contained?: ContainedSteps | undefined;
}

/** Attempt at a step that contains other steps. */
export interface ContainedSteps {
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly startedMonotonic: number;
  /** The attempt is recorded: another one needs a new delivery, which replays the steps that the step contains. */
  isOver: boolean;
  /** Last failed attempt, if there is one. */
  readonly failed: FailedAttempt | undefined;
}

/** Step that waits: for time, for an event, or for a child run. */
export interface WaitingStep extends StepRequest {
  readonly kind: 'sleep' | 'event' | 'invoke' | 'approval';
  /** Creates the wait that the transport stores under `key`. */
  createWait(key: string): RunWait | Promise<RunWait>;
  /** Decides about the events of a wait that is judged. */
  readonly when?: ((payload: never) => unknown) | undefined;
}

/** Step that a run's function asked for. */
export type RequestedStep = AttemptedStep | WaitingStep;

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
  /** Live output of the delivery. */
  readonly output: LiveOutput;
  /** Stores live output that is buffered. Returns `undefined` if there is none. Never rejects. */
  flushOutput(): Promise<void> | undefined;
  /** Keeps the run in this process, and its function at rest, until the returned function is called. */
  hold(): () => void;
  /** Calls `leave` when the run leaves this process, with the reason if it is aborted. */
  onLeave(leave: (reason?: Error) => void): void;
  /** The run has left this process. */
  readonly isOver: boolean;
  /** The type of the run is paused: what runs may end, and nothing starts. */
  readonly isHeld: boolean;
  /** Remembers which step an error came from: if it ends the run, a replay of the dead letter runs that step again. */
  failed(step: StepRequest, error: StepFailedError): void;
}

/** The part of the hub that advancing a run needs. */
export interface RunHost extends HandlerHost {
  readonly transport: HandlerHost['transport'] & { readonly runs: Pick<RunStore, 'end'> };
  readonly pauses: {
    /** Nothing of the type may start. */
    holds(type: string): boolean;
    /** Calls a function after each change. Returns a function that ends this. */
    onChange(listener: () => void): () => void;
  };
  readonly registry: {
    /** Returns a registered event. @throws {UnknownEventError} */
    event(event: EventRef<never, unknown> | string): { readonly type: string };
    /** Returns a registered workflow. @throws {UnknownWorkflowError} */
    workflow(workflow: WorkflowRef<never> | string): AnyWorkflow;
  };
}
