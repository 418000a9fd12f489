import type { HubWorkflow } from './workflow.js';

/** What is kept of a finished step, beside its output. */
export interface StepCheckpoint {
  /** The steps of the workflow that the run began with, as {@link stepsOf} writes them. */
  readonly definition: string;
  /** The delivery's attempt in which the step finished. */
  readonly attempt: number;
  /** How often the run had been replayed when the step finished. */
  readonly replays: number;
  readonly durationMs: number;
}

const outputKey = ',"output":';

/** The names of a workflow's steps in order: two definitions with the same ones can take on each other's runs. */
export function stepsOf({ steps }: HubWorkflow): string {
  return JSON.stringify(steps.map(({ name }) => name));
}

/** @param output JSON */
export function writeCheckpoint(checkpoint: StepCheckpoint, output: string): string {
  return `${JSON.stringify(checkpoint).slice(0, -1)}${outputKey}${output}}`;
}

/** Reads all but the output, which may be large and is often not asked for. */
export function readCheckpoint(value: string): StepCheckpoint {
  // Written by `writeCheckpoint` alone. In a JSON string its key would stand with escaped quotes.
  return JSON.parse(`${value.slice(0, value.indexOf(outputKey))}}`) as StepCheckpoint;
}

/** The delivery's attempt that was the first of the step after these: a run that is replayed counts anew. */
export function firstAttempt(checkpoints: ReadonlyMap<string, string>, replays: number): number {
  const last = [...checkpoints.values()].at(-1);
  const checkpoint = last === undefined ? undefined : readCheckpoint(last);
  return checkpoint?.replays === replays ? checkpoint.attempt : 1;
}

/** The output, as JSON. */
export function checkpointOutput(value: string): string {
  return value.slice(value.indexOf(outputKey) + outputKey.length, -1);
}
