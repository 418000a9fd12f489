import { checkName, OptionChecker } from '../../../options.js';
import { resolveRetry } from '../../events/definition/retry-policy.js';
import type { ResolvedStepOptions } from './run-scope.js';
import type { MapOptions } from './step.js';

const runOptions = ['retry', 'timeoutMs'];

/**
 * Checks the arguments of `step.run`, and of `step.map` if `elements` is given.
 *
 * @throws {InvalidOptionError}
 */
export function resolveStepOptions(
  name: unknown,
  fn: unknown,
  options: MapOptions = {},
  elements?: { readonly value: unknown },
): ResolvedStepOptions & { readonly concurrency: number } {
  const isMap = elements !== undefined;
  const owner = isMap ? 'step.map' : 'step.run';
  checkName(name, `name of ${owner}`);
  const check = new OptionChecker(options, isMap ? [...runOptions, 'concurrency'] : runOptions, owner);
  check.required('fn', fn);
  check.function('fn', fn);
  const { retry, timeoutMs, concurrency = 10 } = options;
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.count('concurrency', concurrency);
  check.that(!isMap || Array.isArray(elements.value), 'elements', 'an array', elements?.value);
  return { retry: retry && resolveRetry(retry, owner), timeoutMs, concurrency };
}
