// Of the 5 ms that a turn of the event loop may take. The commit, and what starts after it, need the rest.
const budgetMs = 2;
const maxChanges = 256;
// A slow machine must not make each change a transaction of its own.
const [minChanges, minRows] = [16, 64] as const;
// Work after which what the transaction makes possible, such as starts, gets a turn of its own.
const longMs = 1;
// One measurement says little: the thread may have been interrupted.
const weight = 0.1;
const maxRise = 4;

/** Ends transactions before they keep the event loop from turning. Learns how long a row takes to write. */
export class TransactionBudget {
  readonly #now: () => number;
  #msPerRow = 0.01;
  #startedAt = 0;
  #appliedAt = 0;
  #workMs = 0;

  /** @param now returns milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The last transaction took so long that what follows belongs in another turn. */
  get wasLong(): boolean {
    return this.#workMs > longMs;
  }

  begin(): void {
    this.#startedAt = this.#now();
  }

  /**
   * Returns `true` if the transaction can take another change.
   *
   * @param changes number of those that were applied
   * @param rows number of rows to write for them, by their size
   */
  hasRoom(changes: number, rows: number): boolean {
    if (changes < minChanges && rows < minRows) return true;
    return changes < maxChanges && this.#now() - this.#startedAt + rows * this.#msPerRow < budgetMs;
  }

  beginWrite(): void {
    this.#appliedAt = this.#now();
  }

  endWrite(rows: number): void {
    const endedAt = this.#now();
    this.#workMs = endedAt - this.#startedAt;
    if (rows === 0) return;
    const msPerRow = Math.min((endedAt - this.#appliedAt) / rows, maxRise * this.#msPerRow);
    this.#msPerRow += weight * (msPerRow - this.#msPerRow);
  }
}
