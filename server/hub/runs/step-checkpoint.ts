import type { HubWorkflow } from './workflow.js';

/** Checkpoint of a completed step, without its output. */
export interface StepCheckpoint {
  /** Steps of the workflow at the start of the run, in the format of {@link stepsOf}. */
  readonly definition: string;
  /** Attempt of the delivery in which the step completed. */
  readonly attempt: number;
  /** Number of replays of the run when the step completed. */
  readonly replays: number;
  readonly durationMs: number;
}

const outputKey = ',"output":';

/** Returns the step names of a workflow in order. Definitions with the same names can resume each other's runs. */
export function stepsOf({ steps }: HubWorkflow): string {
  return JSON.stringify(steps.map(({ name }) => name));
}

/** Encodes a checkpoint. @param output JSON */
export function writeCheckpoint(checkpoint: StepCheckpoint, output: string): string {
  return `${JSON.stringify(checkpoint).slice(0, -1)}${outputKey}${output}}`;
}

/** Decodes a checkpoint without its output, which may be large. */
export function readCheckpoint(value: string): StepCheckpoint {
  // Only `writeCheckpoint` writes it. Inside a JSON string the quotes of the key would be escaped.
  return JSON.parse(`${value.slice(0, value.indexOf(outputKey))}}`) as StepCheckpoint;
}

/** Returns the delivery's attempt that was the first at the next step. A replay restarts the count. */
export function firstAttempt(checkpoints: ReadonlyMap<string, string>, replays: number): number {
  const last = [...checkpoints.values()].at(-1);
  const checkpoint = last === undefined ? undefined : readCheckpoint(last);
  return checkpoint?.replays === replays ? checkpoint.attempt : 1;
}

/** Returns the output as JSON. */
export function checkpointOutput(value: string): string {
  return value.slice(value.indexOf(outputKey) + outputKey.length, -1);
}
