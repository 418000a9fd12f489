import type { ConsumeOptions, Subscription } from '../../transport.js';
import type { CrashGuard } from '../records/crash-guard.js';
import type { DeliverySlots, MemoryDelivery } from './memory-delivery.js';

/** One connection's part in a consumer group: the types that it handles and the deliveries that it runs. */
export class GroupConsumer implements DeliverySlots {
  /** Subscriptions by type. */
  readonly handles: ReadonlyMap<string, Subscription>;
  // Not a Set: the table of an old Set keeps deleted entries alive, and a busy hub spent a third of its time on
  // garbage collection.
  readonly #running: MemoryDelivery[] = [];
  /** Called after each round of deliveries while the consumer drains; `undefined` until then. */
  onRound: (() => void) | undefined;
  readonly #options: ConsumeOptions;
  #sharedRunning = 0;
  #overdue = 0;

  constructor(options: ConsumeOptions) {
    this.#options = options;
    this.handles = new Map(options.subscriptions.map((subscription) => [subscription.type, subscription]));
  }

  get isDraining(): boolean {
    return this.onRound !== undefined;
  }

  get hasSharedSlot(): boolean {
    return this.#sharedRunning < this.#options.concurrency;
  }

  /** Number of handlers that run, overdue ones included. */
  get active(): number {
    return this.#running.length + this.#overdue;
  }

  /** A handler runs, overdue ones included. */
  get isRunning(): boolean {
    return this.active > 0;
  }

  /** Number of handlers that still run although their attempt has its outcome. */
  get overdue(): number {
    return this.#overdue;
  }

  /** Running deliveries, in the order of their start. */
  running(): MemoryDelivery[] {
    return [...this.#running].sort((a, b) => a.order - b.order);
  }

  run(delivery: MemoryDelivery): void {
    this.#add(delivery);
    this.#options.onDelivery(delivery);
  }

  /** @param guard delivers, now or later, or not at all */
  runGuarded(delivery: MemoryDelivery, guard: CrashGuard): void {
    this.#add(delivery);
    guard.deliver(delivery, () => this.#options.onDelivery(delivery));
  }

  #add(delivery: MemoryDelivery): void {
    delivery.index = this.#running.length;
    this.#running.push(delivery);
    if (delivery.takesSharedSlot) this.#sharedRunning += 1;
  }

  remove(delivery: MemoryDelivery): void {
    const last = this.#running.pop();
    if (last !== undefined && last !== delivery) {
      this.#running[delivery.index] = last;
      last.index = delivery.index;
    }
    if (delivery.takesSharedSlot) this.#sharedRunning -= 1;
  }

  addOverdue(delivery: MemoryDelivery): void {
    this.#overdue += 1;
    if (delivery.takesSharedSlot) this.#sharedRunning += 1;
  }

  removeOverdue(delivery: MemoryDelivery): void {
    this.#overdue -= 1;
    if (delivery.takesSharedSlot) this.#sharedRunning -= 1;
  }
}
