import type { Redis } from 'ioredis';
import { portionsOf } from '../../tick-batch.js';
import type { Logger } from '../../transport.js';
import { readArray, readNumber, readOptional, readString } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { argumentBatches, lengthOf } from '../connection/script-limits.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisSettings } from '../redis-options.js';
import { decodeReason, type LeaseName } from '../runs/run-ends.js';
import { type Lease, type LeaseRecorder, leaseArguments } from './lease-recorder.js';

const renewalsPerLifetime = 4;

interface HeldLease {
  readonly lease: Lease;
  readonly onLost: (interruption: Error | undefined) => void;
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
   * @param onLost called if the lease is lost before; with the reason if another process has ended the event
   */
  hold(lease: Lease, onLost: HeldLease['onLost']): () => void {
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
    const lost = readArray(await scripts.renewLeases.run(this.#connection, prefix, args)).map(readArray);
    for (const [position, reason] of lost) {
      const held = due[readNumber(position) - 1];
      if (held !== undefined && this.#leases.delete(held))
        held.onLost(readOptional(reason, (json) => decodeReason(readString(json))));
    }
  }
}

/** Parts of a connection that {@link EndedLeases} uses. */
export interface EndedLeasesParts {
  readonly settings: RedisSettings;
  readonly logger: Logger;
  readonly recorder: LeaseRecorder;
}

/**
 * Leases that another process ended before this one has a delivery for them: the message may arrive before the reply
 * that grants the lease. {@link LeaseRenewal.holds} asks Redis about older replies.
 */
export class EndedLeases {
  readonly #ended = new Map<string, NodeJS.Timeout>();
  readonly #parts: EndedLeasesParts;

  constructor(parts: EndedLeasesParts) {
    this.#parts = parts;
  }

  add(lease: LeaseName): void {
    const timer = setTimeout(() => this.free(lease), this.#parts.settings.lockDurationMs / 2);
    this.#ended.set(leaseName(lease), timer);
  }

  has(lease: LeaseName): boolean {
    return this.#ended.has(leaseName(lease));
  }

  /** Frees the slot of a lease that has ended, and for which no handler runs. */
  free(lease: LeaseName): void {
    clearTimeout(this.#ended.get(leaseName(lease)));
    this.#ended.delete(leaseName(lease));
    const { recorder, logger } = this.#parts;
    recorder.freeSlot(lease).catch((error: unknown) => {
      logger.warn(
        { err: withoutArguments(error) },
        'could not free the slot of an ended event; it is freed when this process ends',
      );
    });
  }

  close(): void {
    for (const timer of this.#ended.values()) clearTimeout(timer);
    this.#ended.clear();
  }
}

function leaseName({ token, jobId, starts }: LeaseName): string {
  return `${token} ${jobId} ${starts}`;
}
