import { HubError } from '../../errors.js';

/** The error of a run that would have to suspend, which this transport cannot record. */
export function suspensionUnsupported(): HubError {
  return new HubError(
    'ERR_SUSPENSION_UNSUPPORTED',
    'the redis transport does not record waits of runs: use memoryTransport() for this workflow',
  );
}
