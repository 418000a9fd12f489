import type { ConsumeOptions } from '../transport.js';
import type { MemoryDelivery } from './delivery.js';

/** One hub's side of a service: which types it handles, what it runs now. */
export class Connection {
  readonly handles: ReadonlySet<string>;
  readonly running: Set<MemoryDelivery> = new Set();
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

  begin(delivery: MemoryDelivery): void {
    this.running.add(delivery);
    if (delivery.takesSharedPlace) this.#shared += 1;
    this.#options.consumer(delivery);
  }

  end(delivery: MemoryDelivery): void {
    this.running.delete(delivery);
    if (delivery.takesSharedPlace) this.#shared -= 1;
  }
}
