import { HubError } from '../../../errors.js';
import { BackpressureError } from '../../errors.js';
import { RedisCommandError, RedisPermissionError, withoutArguments } from '../redis-errors.js';
import { isReadOnlyReply, movedTo } from './follow-primary.js';

const initialDelayMs = 10;
const maxDelayMs = 500;

/** Returns the delay before an attempt to repeat a command, in milliseconds. */
export function repeatDelayMs(attempt: number): number {
  return Math.min(initialDelayMs * 2 ** (attempt - 1), maxDelayMs);
}

/** Returns if the same command may succeed later without anyone's action: the connection was lost, or a server is not ready. */
export function isTransient(error: unknown): boolean {
  if (HubError.is(error)) return false;
  if (!isReply(error)) return true;
  const { message } = error;
  return (
    /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|ASK|BUSY|UNBLOCKED) /.test(message) ||
    isMissingFunction(error) ||
    isReadOnlyReply(message) ||
    movedTo(message) !== undefined
  );
}

/** Returns if a command that failed with a transient error had no effect: Redis rejected it, or did not receive it. */
export function wasNotExecuted(error: unknown): boolean {
  return isReply(error) || (error instanceof Error && error.message.startsWith("Stream isn't writeable"));
}

/** Returns if Redis rejected a call of a function that it does not have: it is new, or its functions were flushed. */
export function isMissingFunction(error: unknown): boolean {
  return isReply(error) && error.message === 'ERR Function not found';
}

/** Returns if Redis rejected a command because its memory is used up. */
export function isOutOfMemory(error: unknown): boolean {
  return isReply(error) && (error.message.startsWith('OOM') || error.message.includes('-OOM'));
}

/** Returns if Redis rejected a write because it cannot persist or replicate it at present. */
export function isWriteRefused(error: unknown): boolean {
  return isReply(error) && /^(MISCONF|NOREPLICAS) |-(MISCONF|NOREPLICAS) /.test(error.message);
}

/** Returns the error that a caller receives for an error of the client, without the command's arguments. */
export function translateReply(error: unknown): Error {
  if (isOutOfMemory(error)) return new BackpressureError('memory of Redis', 'its maxmemory');
  const plain = withoutArguments(error);
  if (!isReply(error)) return plain;
  return /^NOPERM |-NOPERM /.test(error.message) ? new RedisPermissionError(plain) : new RedisCommandError(plain);
}

function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}
