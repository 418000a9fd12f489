/**
 * What a test of an application needs: a model that answers from a script, and time that is moved by hand.
 *
 * @module hubline/testing
 */
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
