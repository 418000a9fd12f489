import { addSpending, type CallSpending } from './token-usage.js';

/** Counts the spending of the agents that one part of a durable run starts. */
export class SpendingMeter {
  readonly spent: CallSpending;
  readonly #note: ((spending: CallSpending) => Promise<void> | undefined) | undefined;

  /**
   * @param spent spending of earlier deliveries
   * @param note records an addition. Absent if these agents record their own turns
   */
  constructor(spent: CallSpending, note?: (spending: CallSpending) => Promise<void> | undefined) {
    this.spent = spent;
    this.#note = note;
  }

  /** Returns a promise that resolves when the addition is recorded, unless nothing is to wait for. */
  add(spending: CallSpending): Promise<void> | undefined {
    addSpending(this.spent, spending);
    return this.#note?.(spending);
  }
}
