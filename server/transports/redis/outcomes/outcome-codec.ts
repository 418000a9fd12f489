import type { ErrorInfo } from '../../../errors.js';
import { durationBucket } from '../../statistics/durations.js';
import type { Envelope, Outcome } from '../../transport.js';
import { emitArguments } from '../publishing/envelope-codec.js';
import { checkedMs } from '../scripts/checked-ms.js';
import type { ScriptArgument } from '../scripts/script.js';

/**
 * Returns an outcome as the arguments that `takeOutcome` reads.
 *
 * @param event saves the script from reading the data of the job
 */
export function outcomeArguments(
  outcome: Outcome,
  attempt: number,
  sender: string,
  event?: Pick<Envelope, 'requestId' | 'causeId'>,
): ScriptArgument[] {
  const { status, durationMs } = outcome;
  const head: ScriptArgument[] = [status, attempt, durationBucket(durationMs), durationMs];
  if (outcome.status === 'retry') {
    return [...head, checkedMs(outcome.delayMs, 'delayMs of a retry'), JSON.stringify(outcome.error)];
  }
  if (outcome.status === 'released') {
    return [...head, checkedMs(outcome.delayMs, 'delayMs of a release')];
  }
  if (outcome.status === 'suspended') return [...head, outcome.seen];
  if (outcome.status === 'failed' && outcome.cancelled === true) head[0] = 'cancelled';
  const value = outcome.status === 'completed' ? (outcome.result ?? '') : JSON.stringify(outcome.error);
  const step = outcome.status === 'failed' ? [outcome.step ?? ''] : [];
  const { followUps } = outcome;
  return [
    ...head,
    value,
    event === undefined ? '' : JSON.stringify(event.requestId),
    event?.causeId === undefined ? '' : JSON.stringify(event.causeId),
    ...step,
    followUps.length,
    ...followUps.flatMap((envelope) => emitArguments(envelope, sender)),
  ];
}

/** Returns the error that {@link outcomeArguments} encoded. */
export function decodeError(json: string): ErrorInfo {
  const { name, message, code } = Object(JSON.parse(json)) as Partial<Record<keyof ErrorInfo, unknown>>;
  return { name: String(name), message: String(message), ...(typeof code === 'string' && { code }) };
}
