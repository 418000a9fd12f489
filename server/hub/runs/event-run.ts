import type { HandledEvent } from '../events/attempts/attempt.js';
import type { RunDefinition } from './definition/run-definition.js';
import type { RunScope } from './definition/run-scope.js';

/** Returns the run of an event whose handler records its turns. */
export function eventRun({ type, schema, followUps, retry, timeoutMs, handler }: HandledEvent): RunDefinition {
  return {
    isEvent: true,
    name: type,
    version: 1,
    followUps,
    retry,
    ...(schema !== undefined && { input: schema }),
    run: (scope: RunScope) => scope.handle(handler, timeoutMs),
  };
}
