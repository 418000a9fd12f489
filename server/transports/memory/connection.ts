import type { ConsumeOptions } from '../transport.js';
import type { MemoryDelivery } from './delivery.js';

/** One hub's side of a service: which types it handles, what it runs now. */
export class Connection {
  readonly handles: ReadonlySet<string>;
  // A Set would be simpler, but its table, once old, keeps what was deleted from it alive: a third of the
  // time of a busy hub went to the garbage collector.
  readonly #running: MemoryDelivery[] = [];
  /** Called after each round of deliveries while the connection drains; `undefined` while it is open. */
  onRound: (() => void) | undefined;
  readonly #options: ConsumeOptions;
  #shared = 0;

  constructor(options: ConsumeOptions) {
    this.#options = options;
    this.handles = new Set(options.subscriptions.map(({ type }) => type));
  }

  get isDraining(): boolean {
    return this.onRound !== undefined;
  }

  /** Whether it may run one more of the types that have no lane of their own. */
  get hasSharedPlace(): boolean {
    return this.#shared < this.#options.concurrency;
  }

  get isRunning(): boolean {
    return this.#running.length > 0;
  }

  /** What runs, in the order of its start. */
  running(): MemoryDelivery[] {
    return [...this.#running].sort((a, b) => a.order - b.order);
  }

  begin(delivery: MemoryDelivery): void {
    delivery.place = this.#running.length;
    this.#running.push(delivery);
    if (delivery.takesSharedPlace) this.#shared += 1;
    this.#options.onDelivery(delivery);
  }

  end(delivery: MemoryDelivery): void {
    const last = this.#running.pop();
    if (last !== undefined && last !== delivery) {
      this.#running[delivery.place] = last;
      last.place = delivery.place;
    }
    if (delivery.takesSharedPlace) this.#shared -= 1;
  }
}
