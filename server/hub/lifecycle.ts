import { InvalidOptionError } from '../errors.js';
import { OptionChecker } from '../options.js';
import { HubNotStartedError, HubObserverError, HubStartedError, HubStoppedError } from './errors.js';
import type { HubSettings } from './hub-options.js';

/** State of a hub. Checks if an operation is allowed in it. */
export class Lifecycle {
  /** `consuming`: deliveries arrive although `start` has not resolved yet. */
  state: 'new' | 'starting' | 'consuming' | 'running' | 'stopping' | 'stopped' = 'new';
  /** Epoch milliseconds; `null` until `start` has resolved. */
  startedAt: number | null = null;
  readonly #isObserver: boolean;
  readonly #hasService: boolean;

  constructor({ observer, isDefaultService }: Pick<HubSettings, 'observer' | 'isDefaultService'>) {
    this.#isObserver = observer;
    this.#hasService = !isDefaultService;
  }

  /** @throws {InvalidOptionError} if the hub is read-only and was created without the service that it needs */
  checkService(operation: string): void {
    if (!this.#isObserver || this.#hasService) return;
    throw new InvalidOptionError('service of createHub', `set for ${operation} of a read-only hub`, undefined);
  }

  /** @throws {HubStartedError | HubObserverError} unless the hub has not started and is not read-only */
  checkRegistering(operation: string): void {
    if (this.#isObserver) throw new HubObserverError(operation);
    if (this.state !== 'new') throw new HubStartedError(operation);
  }

  /** @throws {HubStartedError | HubStoppedError} unless the hub has not started */
  checkStart(): void {
    if (this.isStarting || this.state === 'running') {
      throw new HubStartedError('start() called', 'a hub starts once');
    }
    if (this.state !== 'new') throw new HubStoppedError('start() called');
  }

  get isStarting(): boolean {
    return this.state === 'starting' || this.state === 'consuming';
  }

  /** Reason for which the hub takes no events; `undefined` while it runs. */
  get unreadiness(): 'not-started' | 'draining' | undefined {
    if (this.state === 'running') return undefined;
    return this.state === 'stopping' || this.state === 'stopped' ? 'draining' : 'not-started';
  }

  /** Called for each delivery: from the first one on, handlers run and may emit. */
  markConsuming(): void {
    if (this.state === 'starting') this.state = 'consuming';
  }

  /**
   * Allows handlers to emit from the first delivery until the last handler has ended in the drain.
   *
   * @throws {HubNotStartedError | HubStoppedError} before the first delivery or `start`, and after the drain
   */
  checkRunning(operation: string): void {
    if (this.state === 'new' || this.state === 'starting') throw new HubNotStartedError(operation);
    if (this.state === 'stopped') throw new HubStoppedError(operation);
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
