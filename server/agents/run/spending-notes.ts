import type { DurableRun } from '../../hub/events/agent-support/durable-place.js';
import { SpendingMeter } from '../model/spending-meter.js';
import { addSpending, type CallSpending, noUsage } from '../model/token-usage.js';

/** Spending on steps that have no recorded result, of which an earlier delivery recorded notes. */
export class SpendingNotes {
  readonly #run: DurableRun;
  readonly #count: (spent: CallSpending) => void;

  /** @param count counts what earlier deliveries spent */
  constructor(run: DurableRun, count: (spent: CallSpending) => void) {
    this.#run = run;
    this.#count = count;
  }

  /** Counts what earlier deliveries spent on a step, and returns it. */
  take(id: string): CallSpending {
    const spent: CallSpending = noUsage();
    const notes = this.#run.notesOn(id);
    if (notes.length === 0) return spent;
    // Written by `add`.
    for (const note of notes) addSpending(spent, note as CallSpending);
    this.#count(spent);
    return spent;
  }

  /** Records spending on a step. Never rejects. */
  add(id: string, spending: CallSpending): Promise<void> | undefined {
    return this.#run.note(id, spending);
  }

  /** Returns a meter that records each addition, and starts with what earlier deliveries spent on the step. */
  meter(id: string): SpendingMeter {
    return new SpendingMeter(this.take(id), (spending) => this.add(id, spending));
  }
}
