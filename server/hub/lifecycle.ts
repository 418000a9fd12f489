import { InvalidOptionError } from '../errors.js';
import { checkOptionNames } from '../option-names.js';
import { HubNotStartedError, HubObserverError, HubStartedError, HubStoppedError } from './errors.js';

/** Where a hub stands between its creation and its end, and what may be done there. */
export class Lifecycle {
  state: 'new' | 'starting' | 'running' | 'stopping' | 'stopped' = 'new';
  readonly #isObserver: boolean;

  /** @param isObserver whether the hub only looks on */
  constructor(isObserver: boolean) {
    this.#isObserver = isObserver;
  }

  /** @throws where it is too late to register anything, and on a hub that only looks on */
  checkNew(operation: string): void {
    if (this.#isObserver) throw new HubObserverError(operation);
    if (this.state !== 'new') throw new HubStartedError(operation);
  }

  /** @throws unless the hub may start */
  checkStart(): void {
    if (this.state === 'starting' || this.state === 'running') {
      throw new HubStartedError('start() called', 'a hub starts once');
    }
    if (this.state !== 'new') throw new HubStoppedError('start() called');
  }

  /** @throws unless the hub runs */
  checkRunning(operation: string): void {
    if (this.state === 'new' || this.state === 'starting') throw new HubNotStartedError(operation);
    if (this.state !== 'running') throw new HubStoppedError(operation);
  }

  /** @throws unless the hub runs, and on one that only looks on */
  checkEmitting(operation: string): void {
    if (this.#isObserver) throw new HubObserverError(operation);
    this.checkRunning(operation);
  }

  /** While the hub drains, handlers that still run may finish their work. @throws once it has stopped */
  checkNotStopped(operation: string): void {
    if (this.state === 'stopped') throw new HubStoppedError(operation);
  }
}

/** How long `stop` waits, in milliseconds. @throws {InvalidOptionError} */
export function drainMsOf(options: { drainMs?: number }): number {
  checkOptionNames(options, ['drainMs'], 'stop');
  const { drainMs = 10_000 } = options;
  if (typeof drainMs === 'number' && drainMs >= 0) return drainMs;
  throw new InvalidOptionError('drainMs of stop', 'milliseconds, 0 or more', drainMs);
}
