/**
 * Helpers for tests of applications: a model that answers from a script, a clock that tests advance, and a check of changed
 * workflows against recorded runs.
 *
 * @module hubline/testing
 */
export type { Message } from '../agents/model/message.js';
export type { FinishReason, ModelOptions, ModelProvider } from '../agents/model/model-provider.js';
export type { TokenUsage } from '../agents/model/token-usage.js';
export type { Source, VendorCall } from '../agents/model/vendor-parts.js';
export type { ExportedEntry, ExportedRun } from '../hub/runs/exported-run.js';
export type { StepKind } from '../hub/runs/run-entry.js';
export type { Clock } from '../transports/clock.js';
export type { Codec } from '../transports/codec.js';
export { type CheckedStep, type CheckRunsOptions, checkRuns, type RunCheck, type RunDifference } from './check-runs.js';
export { createFakeClock, type FakeClock } from './fake-clock.js';
export {
  type ScriptEntry,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedProvider,
  scriptedProvider,
  UnexpectedCallError,
  UnusedScriptError,
} from './scripted-provider.js';
