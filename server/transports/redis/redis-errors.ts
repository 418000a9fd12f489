import { HubError, messageOf, quote } from '../../errors.js';
import { publicErrorInfo } from '../../redaction.js';

/** Redis returned data that this version does not write: another version, or something else, uses the same prefix. */
export class UnexpectedDataError extends HubError {
  /** @param found the data that was found, and the data that was expected */
  constructor(found: string) {
    super('ERR_UNEXPECTED_DATA', `${found}; let only processes of this version of Hubline use the prefix`);
  }
}

/** The installed version of BullMQ is not supported. */
export class UnsupportedVersionError extends HubError {
  constructor(script: string, supported: string) {
    super(
      'ERR_UNSUPPORTED_VERSION',
      `redisTransport does not know the script ${quote(script)} of the installed bullmq; install bullmq@${supported}`,
    );
  }
}

/** Redis rejected a command, and would reject it again. */
export class RedisCommandError extends HubError {
  constructor(cause: Error) {
    super('ERR_REDIS_COMMAND', `Redis rejected a command: ${cause.message}`, {
      cause,
      publicMessage: `Redis rejected a command: ${publicErrorInfo(cause).message}`,
    });
  }
}

/** The user of the connection lacks a permission in Redis's access control list. */
export class RedisPermissionError extends HubError {
  constructor(cause: Error) {
    const messageWith = (why: string): string =>
      `Redis denied a permission: ${why}; grant the user the commands, keys and channels that docs/redis.md lists`;
    super('ERR_REDIS_PERMISSION', messageWith(cause.message), {
      cause,
      publicMessage: messageWith(publicErrorInfo(cause).message),
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
