import type { Delivery, RunWait, WaitResolution } from '../../../transports/transport.js';
import type { HandlerHost } from '../../events/attempts/outcome-recorder.js';
import type { RunDefinition } from '../definition/run-definition.js';
import type { ResolvedStepOptions } from '../definition/run-scope.js';
import type { StepContext } from '../definition/step-context.js';
import type { TurnFacts } from '../../events/agent-support/turn-facts.js';
import type { StepFailedError } from '../errors.js';
import type { Replay, StepRequest } from './replay.js';
import { type AttemptedKind, isAttemptedKind } from './run-entry.js';

/** Step that an attempt runs. */
export interface AttemptedStep extends StepRequest {
  readonly kind: AttemptedKind;
  readonly options: ResolvedStepOptions;
  /** Facts about the step of an agent, for introspection. */
  readonly turn?: TurnFacts | undefined;
  /** Receives a failure, which is then not recorded. @default failures are recorded */
  readonly reject?: ((error: unknown) => void) | undefined;
  /** Present on a step that contains other steps and has ended: `call` returns its result. */
  readonly contained?: ContainedSteps | undefined;
  call(ctx: StepContext): unknown;
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
export type RequestedStep = AttemptedStep | WaitingStep;

/** Returns `true` for a step that an attempt runs. */
export function isAttempted(step: RequestedStep): step is AttemptedStep {
  return isAttemptedKind(step.kind);
}

/** Run whose function asks for steps. */
export interface StepHost {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: HandlerHost;
  readonly replay: Replay<RequestedStep>;
  /** Input of the run as its function receives it. */
  readonly input: unknown;
  /** Adds a step that the function asks for. */
  request(step: RequestedStep): void;
  /** Adds a patch whose answer is recorded before the next step starts. */
  addPatch(id: string): void;
  /** Records an entry that no step waits for. */
  record(key: string, value: string): Promise<void>;
  /** Keeps the run in this process, and its function at rest, until the returned function is called. */
  hold(): () => void;
  /** Calls `leave` when the run leaves this process, with the reason if it is aborted. */
  onLeave(leave: (reason?: Error) => void): void;
  /** The run has left this process. */
  readonly isOver: boolean;
  /** Remembers which step an error came from: if it ends the run, a replay of the dead letter runs that step again. */
  failed(step: StepRequest, error: StepFailedError): void;
}
