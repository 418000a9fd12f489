/**
 * Helpers for tests of applications: a model that answers from a script, and a clock that tests advance.
 *
 * @module hubline/testing
 */
export type { Message } from '../agents/model/message.js';
export type { FinishReason, ModelOptions, ModelProvider } from '../agents/model/model-provider.js';
export type { TokenUsage } from '../agents/model/token-usage.js';
export type { Clock } from '../transports/clock.js';
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
