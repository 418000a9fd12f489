import { addSpending, type CallSpending } from './token-usage.js';

/** Counts the spending of the agents that one part of a durable run starts. */
export class SpendingMeter {
  readonly spent: CallSpending;
  readonly #note: ((spending: CallSpending) => void) | undefined;

  /**
   * @param spent spending of earlier deliveries
   * @param note records an addition. Absent if these agents record their own turns
   */
  constructor(spent: CallSpending, note?: (spending: CallSpending) => void) {
    this.spent = spent;
    this.#note = note;
  }

  add(spending: CallSpending): void {
    addSpending(this.spent, spending);
    this.#note?.(spending);
  }
}
