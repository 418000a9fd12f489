import { HubError, quote } from '../../errors.js';

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
