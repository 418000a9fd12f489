import { HubError, messageOf } from '../../errors.js';
import { fullPublicInfo } from '../../redaction.js';
import { BackpressureError } from '../errors.js';

/** The installed version of BullMQ does not work as Hubline expects. */
export class UnsupportedVersionError extends HubError {
  /** @param expectation that the installed version does not meet */
  constructor(version: string, expectation: string, supported: string) {
    super(
      'ERR_UNSUPPORTED_VERSION',
      `redisTransport cannot use bullmq@${version}, of which it expects: ${expectation}; install bullmq@${supported}`,
    );
  }
}

/** Redis rejected a command, and would reject it again. */
class RedisCommandError extends HubError {
  constructor(cause: Error) {
    super('ERR_REDIS_COMMAND', `Redis rejected a command: ${cause.message}`, {
      cause,
      publicMessage: `Redis rejected a command: ${fullPublicInfo(cause).message}`,
    });
  }
}

/** Redis refuses the database of the connection: it does not have it, or the user may not select it. */
export class RedisDatabaseError extends HubError {
  constructor(database: number, cause: Error) {
    const messageWith = (why: string): string =>
      `Redis refuses database ${database}: ${why}; pass one that the server has and that the user may select`;
    super('ERR_REDIS_DATABASE', messageWith(cause.message), {
      cause,
      publicMessage: messageWith(fullPublicInfo(cause).message),
    });
  }
}

/** The user of the connection lacks a permission in Redis's access control list. */
class RedisPermissionError extends HubError {
  constructor(cause: Error) {
    const messageWith = (why: string): string =>
      `Redis denied a permission: ${why}; grant the user the commands, keys and channels that docs/redis.md lists`;
    super('ERR_REDIS_PERMISSION', messageWith(cause.message), {
      cause,
      publicMessage: messageWith(fullPublicInfo(cause).message),
    });
  }
}

/**
 * Returns an error of the client with its name, message and code only: ioredis attaches the arguments of the command,
 * which hold payloads and passwords, and callers log errors whole.
 */
export function withoutArguments(error: unknown): Error {
  if (HubError.is(error)) return error;
  // Redis quotes arguments of a command that it does not know.
  const plain = new Error(messageOf(error).replace(/,? with args beginning with:.*/s, ''));
  plain.name = error instanceof Error ? error.name : 'Error';
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? Object.assign(plain, { code }) : plain;
}

const initialDelayMs = 10;
const maxDelayMs = 500;

/** Returns the delay before an attempt to repeat a command, in milliseconds. */
export function repeatDelayMs(attempt: number): number {
  return Math.min(initialDelayMs * 2 ** (attempt - 1), maxDelayMs);
}

/** No reply arrived within the time limit of a command. */
export class NoReplyError extends Error {
  constructor() {
    super('no reply in time');
  }
}

/**
 * Returns if the same command may succeed later without anyone's action: the connection was lost, or a server is not
 * ready. Every other error would return: it says that the command itself is wrong.
 */
export function isTransient(error: unknown): boolean {
  if (!isReply(error)) return isConnectionLoss(error);
  const { message } = error;
  return (
    /^(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|ASK|BUSY|UNBLOCKED) /.test(message) ||
    isMissingFunction(error) ||
    isReadOnlyReply(message) ||
    movedTo(message) !== undefined
  );
}

// Errors of ioredis have no codes.
const lossMessages =
  /^(Connection is closed\.|Stream isn't writeable|Command aborted due to connection close|Reached the max retries per request limit)/;

function isConnectionLoss(error: unknown): boolean {
  if (error instanceof NoReplyError) return true;
  return error instanceof Error && ('syscall' in error || lossMessages.test(error.message));
}

/** Address of a server. */
export interface Address {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/** Returns if Redis rejected a command because another server is the primary now. */
export function isReadOnlyReply(message: string): boolean {
  return /^READONLY |-READONLY /.test(message);
}

/** Returns the address of the server that has the keys, if Redis rejected a command with `MOVED`. */
export function movedTo(message: string): Address | undefined {
  const [, host, port] = /^MOVED \d+ (.*):(\d+)/.exec(message) ?? [];
  if (port === undefined) return undefined;
  // An empty host stands for the host that replied.
  return { ...(host !== undefined && host !== '' && { host }), port: Number(port) };
}

/** Returns if a command that failed with a transient error had no effect: Redis rejected it, or did not receive it. */
export function wasNotExecuted(error: unknown): boolean {
  return isReply(error) || (error instanceof Error && error.message.startsWith("Stream isn't writeable"));
}

/** Returns if Redis rejected a call of a function that it does not have: it is new, or its functions were flushed. */
export function isMissingFunction(error: unknown): boolean {
  return isReply(error) && error.message === 'ERR Function not found';
}

/** Returns if Redis rejected the `SELECT` with which a connection begins. */
export function isRefusedDatabase(error: unknown): boolean {
  if (!isReply(error) || isTransient(error) || !('command' in error)) return false;
  return Reflect.get(Object(error.command), 'name') === 'select';
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
