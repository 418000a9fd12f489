import { HubError, InvalidOptionError, maxDurationMs } from '../../../errors.js';
import { type BatchLimits, portionsOf } from '../../tick-batch.js';

/** Number of elements of the list of counted changes at which a script adds them to the records of their types. */
export const maxChanges = 32;
/** Number of service types up to which a script that counts adds an element to the list of changes. */
export const maxTypesPerChange = 8;
/** Number of entries that a queue's event stream retains; BullMQ requires the stream. */
export const retainedQueueEvents = 100;
/** Maximum number of calls or outcomes per script: Redis runs nothing else while a script runs. */
export const maxBatch = 250;
/** Maximum length of the arguments of one script, and of a reply that holds results, unless one call alone exceeds it. */
export const maxBatchLength = 1_048_576;
/** Maximum number of arguments of one call: Redis closes a connection that sends 1,048,576. */
const maxArguments = 1_000_000;
/** Maximum length of the arguments of one call: Redis closes a connection that sends 1 GiB. */
const maxArgumentsLength = 256 * 1_048_576;
/** Number of fields per command: Lua passes a limited number of values to a function. */
export const fieldBatch = 1_000;
/** Maximum number of jobs or dead letters that one call of a script discards. */
export const maxDiscarded = 500;
/** Maximum number of dead letters that one commit evicts; more are left only if the limit was lowered. */
export const maxEvictedDeadLetters = 100;
/** Maximum number of delayed events that one fetch of a job moves into their gates. */
export const maxDuePerFetch = 100;
/** Maximum number of types per script whose minutes move to their histories. At the end of an hour each takes 5 kB. */
export const maxHistoriesPerScript = 25;
/** Maximum number of service types that one script registers or rebalances. */
export const maxTypesPerScript = 250;
/** Span of the order of acceptance within a priority: the sum of both is exact up to 2^53. */
export const orderSpan: number = 2 ** 44;

/**
 * Returns a duration that scripts can compute with. A script must not meet a wrong one after its first write, because
 * Redis does not undo writes.
 *
 * @throws {InvalidOptionError}
 */
export function checkedMs(ms: number, name: string): number {
  if (ms >= 0 && ms <= maxDurationMs) return ms;
  throw new InvalidOptionError(name, `milliseconds, from 0 to ${maxDurationMs}`, ms);
}

/** The arguments of one call are too many or too long for Redis. */
class CallTooLargeError extends HubError {
  constructor(subject: string) {
    super('ERR_CALL_TOO_LARGE', `one call to Redis cannot have ${subject}; emit fewer or smaller events per step`);
  }
}

/** Refuses arguments over which Redis would close the connection, each time they are sent. @throws {CallTooLargeError} */
export function checkArguments(args: readonly (string | number)[]): void {
  if (args.length > maxArguments) throw new CallTooLargeError(`${args.length} arguments, over ${maxArguments}`);
  const length = lengthOf(args);
  if (length > maxArgumentsLength) throw new CallTooLargeError(`${length} characters, over ${maxArgumentsLength}`);
}

/** Returns the number of characters of arguments. */
export function lengthOf(args: readonly (string | number)[]): number {
  return args.reduce<number>((sum, arg) => sum + (typeof arg === 'string' ? arg.length : 8), 0);
}

/** Limits of a batch whose items are arguments of one script. */
export const argumentBatches: BatchLimits<{ readonly args: readonly (string | number)[] }> = {
  maxSize: maxBatch,
  maxWeight: maxBatchLength,
  weigh: ({ args }) => lengthOf(args),
};

/** Divides lists of arguments, each of which one call takes whole, into the arguments of one call each. */
export function* argumentPortions(lists: readonly (readonly (string | number)[])[]): Generator<ArgumentPortion> {
  const limits = { ...argumentBatches, weigh: lengthOf };
  for (const portion of portionsOf(lists, limits)) yield { count: portion.length, args: portion.flat() };
}

/** Arguments of one call, and the number of lists that they were. */
export interface ArgumentPortion {
  readonly count: number;
  readonly args: readonly (string | number)[];
}
