import type { Delivery, Envelope } from '../../../../transports/transport.js';
import type { RunDefinition } from '../../definition/run-definition.js';
import type { StepEntry } from '../replay/run-entry.js';
import type { AttemptedStep, TurnStep } from './requested-step.js';
import type { RunHost } from './run-host.js';

/** Attempt at a step that has neither ended nor been cancelled. */
export interface RunningAttempt {
  /** Position in the list of its run, which sets it. */
  index: number;
  /** Ends the attempt without a record. `reason` aborts the step's function. */
  cancel(reason: Error): void;
}

/** Run whose steps are attempted. */
export interface AttemptRun {
  readonly workflow: RunDefinition;
  readonly delivery: Delivery;
  readonly host: RunHost;
  /** Input of the run as its function receives it. */
  readonly input: unknown;
  /** Removes a step whose failure is not recorded. */
  withdraw(step: TurnStep): void;
  /** Records an entry with the events that it emitted. Never rejects. @param parsed the value without its output */
  record(key: string, value: string, emits?: readonly Envelope[], parsed?: StepEntry): Promise<void> | undefined;
  /** Called once, when the attempt holds its process no longer. */
  attemptEnded(attempt: RunningAttempt): void;
  /** Remembers the error of a terminal failure. */
  threw(step: AttemptedStep | TurnStep, thrown: unknown): void;
}
