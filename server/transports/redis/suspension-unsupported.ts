import { HubError } from '../../errors.js';

class SuspensionUnsupportedError extends HubError {
  /** The run fails: no retry makes the transport store its wait. */
  readonly fatal = true;

  constructor() {
    super(
      'ERR_SUSPENSION_UNSUPPORTED',
      'the redis transport does not store waits and emits of runs: use memoryTransport() for this workflow',
    );
  }
}

/** Returns the error of a run that would have to suspend, or whose step emits. */
export function suspensionUnsupported(): HubError {
  return new SuspensionUnsupportedError();
}
