import { OptionChecker } from '../options.js';
import { HubNotStartedError, HubObserverError, HubStartedError, HubStoppedError } from './errors.js';

/** State of a hub. Checks if an operation is allowed in it. */
export class Lifecycle {
  state: 'new' | 'starting' | 'running' | 'stopping' | 'stopped' = 'new';
  readonly #isObserver: boolean;

  /** @param isObserver `true` for a read-only hub */
  constructor(isObserver: boolean) {
    this.#isObserver = isObserver;
  }

  /** @throws {HubStartedError | HubObserverError} unless the hub has not started and is not read-only */
  checkRegistering(operation: string): void {
    if (this.#isObserver) throw new HubObserverError(operation);
    if (this.state !== 'new') throw new HubStartedError(operation);
  }

  /** @throws {HubStartedError | HubStoppedError} unless the hub has not started */
  checkStart(): void {
    if (this.state === 'starting' || this.state === 'running') {
      throw new HubStartedError('start() called', 'a hub starts once');
    }
    if (this.state !== 'new') throw new HubStoppedError('start() called');
  }

  /** @throws {HubNotStartedError | HubStoppedError} unless the hub runs */
  checkRunning(operation: string): void {
    if (this.state === 'new' || this.state === 'starting') throw new HubNotStartedError(operation);
    if (this.state !== 'running') throw new HubStoppedError(operation);
  }

  /** @throws {HubNotStartedError | HubStoppedError | HubObserverError} unless the hub runs and is not read-only */
  checkEmitting(operation: string): void {
    if (this.#isObserver) throw new HubObserverError(operation);
    this.checkRunning(operation);
  }

  /** Allows handlers to emit while the hub drains. @throws {HubStoppedError} after the hub has stopped */
  checkNotStopped(operation: string): void {
    if (this.state === 'stopped') throw new HubStoppedError(operation);
  }
}

/** Returns the maximum duration of the drain, in milliseconds. `Infinity` is allowed. @throws {InvalidOptionError} */
export function resolveDrainMs(options: { drainMs?: number }): number {
  const check = new OptionChecker(options, ['drainMs'], 'stop');
  const { drainMs = 10_000 } = options;
  if (drainMs !== Number.POSITIVE_INFINITY) check.durationMs('drainMs', drainMs);
  return drainMs;
}
