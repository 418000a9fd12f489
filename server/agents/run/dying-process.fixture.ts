/** Process that dies at some of its actions: those that it began then never end. */
export class DyingProcess {
  readonly #deaths: ReadonlySet<number>;
  #actions = 0;
  #isDead = false;

  /** @param deaths numbers of the actions at which the process dies, the first action is 0 */
  constructor(deaths: readonly number[]) {
    this.#deaths = new Set(deaths);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Returns at the next action of a living process, and never once it is dead. */
  async act(): Promise<void> {
    if (!this.#isDead) this.#isDead = this.#deaths.has(this.#actions++);
    if (this.#isDead) await new Promise(() => {});
  }

  /** Starts the next process in place of the dead one. */
  restart(): void {
    this.#isDead = false;
  }
}
