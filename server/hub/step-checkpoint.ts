import type { HubWorkflow } from './workflow.js';

/** What is kept of a finished step. */
export interface StepCheckpoint {
  /** The steps of the workflow that the run began with, as {@link stepsOf} writes them. */
  readonly definition: string;
  /** The delivery's attempt in which the step finished. */
  readonly attempt: number;
  readonly durationMs: number;
  readonly output: unknown;
}

/** The names of a workflow's steps in order: two definitions with the same ones can take on each other's runs. */
export function stepsOf({ steps }: HubWorkflow): string {
  return JSON.stringify(steps.map(({ name }) => name));
}

/** @param output JSON */
export function writeCheckpoint(fields: Omit<StepCheckpoint, 'output'>, output: string): string {
  return `${JSON.stringify(fields).slice(0, -1)},"output":${output}}`;
}

export function parseCheckpoint(value: string): StepCheckpoint {
  // Written by `writeCheckpoint` alone.
  return JSON.parse(value) as StepCheckpoint;
}
