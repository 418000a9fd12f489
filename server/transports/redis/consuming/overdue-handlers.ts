import type { Logger } from '../../transport.js';
import { withoutArguments } from '../redis-errors.js';
import type { RedisDelivery } from './redis-delivery.js';

/** Handlers of a process that run on although their attempt has its outcome. */
export class OverdueHandlers {
  readonly #deliveries = new Set<RedisDelivery>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Adds a delivery with an outcome, if its handler runs. */
  add(delivery: RedisDelivery): void {
    if (delivery.overdue === undefined) return;
    this.#deliveries.add(delivery);
    delivery.overdue
      .catch((error: unknown) => {
        this.#logger.warn(
          { err: withoutArguments(error), eventType: delivery.envelope.type },
          'could not free the slot of an overdue handler; it is freed when this process ends',
        );
      })
      .finally(() => this.#deliveries.delete(delivery));
  }

  /** Number of handlers. */
  get running(): number {
    return this.#deliveries.size;
  }

  /** Resolves when all handlers have returned and their slots are free. */
  async returned(): Promise<void> {
    await Promise.allSettled([...this.#deliveries].map(({ overdue }) => overdue));
  }

  /** Frees the slots of this process although handlers run; returns the number of these handlers. */
  abandon(): number {
    for (const delivery of this.#deliveries) delivery.abandon();
    return this.#deliveries.size;
  }
}
