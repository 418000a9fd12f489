import type { Redis } from 'ioredis';
import type { Logger } from '../../transport.js';
import { readArray, readNumber } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { lengthOf } from '../connection/script-limits.js';
import { argumentBatches, portionsOf } from '../connection/tick-batch.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { type Lease, leaseArguments } from './lease-recorder.js';

const renewalsPerLifetime = 4;

interface HeldLease {
  readonly lease: Lease;
  readonly onLost: () => void;
}

/**
 * Renews the leases of this process. BullMQ decides by the wall clock which locks to renew; when that is set back, locks
 * expire. Timers do not depend on it.
 */
export class LeaseRenewal {
  readonly #connection: Redis;
  readonly #settings: RedisSettings;
  readonly #logger: Logger;
  readonly #leases = new Set<HeldLease>();
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Redis, settings: RedisSettings, logger: Logger) {
    this.#connection = connection;
    this.#settings = settings;
    this.#logger = logger;
  }

  start(): void {
    this.#timer = setTimeout(async () => {
      await this.#renew();
      if (this.#timer !== undefined) this.start();
    }, this.#settings.lockDurationMs / renewalsPerLifetime);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Renews a lease until the returned function is called.
   *
   * @param onLost called if the lease is lost before
   */
  hold(lease: Lease, onLost: () => void): () => void {
    const held: HeldLease = { lease, onLost };
    this.#leases.add(held);
    return () => this.#leases.delete(held);
  }

  /**
   * Returns `true` if this process holds a lease for long enough to start its handler. A reply may take longer than the
   * lease lasts, and another process may have ended the job meanwhile.
   *
   * @param askedAt time on the clock of `performance` before which the lease did not begin
   */
  async holds(lease: Lease, askedAt: number): Promise<boolean> {
    const { prefix, lockDurationMs } = this.#settings;
    let since = askedAt;
    while (performance.now() - since > lockDurationMs / 2) {
      since = performance.now();
      const args = [lockDurationMs, ...leaseArguments(lease)];
      if (readArray(await scripts.renewLeases.run(this.#connection, prefix, args)).length > 0) return false;
    }
    return true;
  }

  async #renew(): Promise<void> {
    const limits = { ...argumentBatches, weigh: ({ lease }: HeldLease) => lengthOf(leaseArguments(lease)) };
    try {
      await Promise.all([...portionsOf([...this.#leases], limits)].map((due) => this.#renewPortion(due)));
    } catch (error) {
      this.#logger.warn({ err: withoutArguments(error) }, 'could not renew locks; the next renewal follows');
    }
  }

  async #renewPortion(due: readonly HeldLease[]): Promise<void> {
    const { prefix, lockDurationMs } = this.#settings;
    const args = [lockDurationMs, ...due.flatMap(({ lease }) => leaseArguments(lease))];
    const lost = readArray(await scripts.renewLeases.run(this.#connection, prefix, args)).map(readNumber);
    for (const position of lost) {
      const held = due[position - 1];
      if (held !== undefined && this.#leases.delete(held)) held.onLost();
    }
  }
}
