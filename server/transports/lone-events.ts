import type { Clock, Timer } from './clock.js';

/** Part of the process that starts handlers of events. */
export interface EventStarter {
  /** Number of events that are about to start, or whose handler runs. */
  readonly active: number;
  /** Starts what had to wait. */
  resume(): void;
}

/** Event that has to run alone. */
export interface LoneEvent {
  /** Id of the event. */
  readonly id: string;
  readonly clock: Clock;
  /** Maximum time for which the event waits for others to end, and then keeps others waiting, in milliseconds. */
  readonly limitMs: number;
  /** Starts the event. @param isAlone no other event runs, and none starts */
  begin(isAlone: boolean): void;
  /** Records that the event runs no longer alone. @param recorded lets the others start */
  recordShared(recorded: () => void): void;
}

/** Event for which a process starts no other one. */
export interface IsolatedEvent {
  readonly id: string;
  /** Epoch milliseconds from which no other event started. */
  readonly since: number;
  /** The event waits for others to end. */
  readonly isWaiting?: true;
}

/**
 * Lets one event at a time run alone in the process, so that it is known to be the cause if the process dies. A counter
 * of starts without an outcome does not suffice: an event that runs beside a poison event dies as often, so that both
 * have the same count, and four innocent events fail with two poison ones (faults/sqlite/sqlite-crash-loop.test.ts).
 *
 * While an event is to run alone, no other one starts. Then others have as much time before the next one may.
 */
export class LoneEvents {
  readonly #starters = new Set<EventStarter>();
  #current: LoneEvent | undefined;
  #hasBegun = false;
  #timer: Timer | undefined;
  #since = 0;
  #reservedAt = 0;
  #last: { readonly clock: Clock; readonly pauseUntil: number } | undefined;

  /** An event is to run alone: no other one may start. */
  get isReserved(): boolean {
    return this.#current !== undefined;
  }

  /** Event that runs alone or is about to; `undefined` if there is none. */
  get isolated(): IsolatedEvent | undefined {
    if (this.#current === undefined) return undefined;
    const { id } = this.#current;
    return { id, since: this.#reservedAt, ...(!this.#hasBegun && { isWaiting: true }) };
  }

  /** Adds a part of the process; returns a function that removes it. */
  join(starter: EventStarter): () => void {
    this.#starters.add(starter);
    return () => {
      this.#starters.delete(starter);
      this.check();
    };
  }

  /**
   * Makes the process wait for an event, which counts as active. Returns a function to call when the event has ended;
   * `undefined` if others have their turn.
   */
  reserve(event: LoneEvent): (() => void) | undefined {
    const { clock } = event;
    const last = this.#last?.clock === clock ? this.#last : undefined;
    if (this.isReserved || (last !== undefined && clock.monotonic() < last.pauseUntil)) return undefined;
    this.#current = event;
    this.#hasBegun = false;
    this.#since = clock.monotonic();
    this.#reservedAt = clock.now();
    this.#timer = clock.after(event.limitMs, () => {
      this.#open(event);
      event.begin(false);
    });
    this.check();
    return () => this.#open(event);
  }

  /** Starts the event that waits if no other one runs any more. */
  check(): void {
    const event = this.#current;
    if (event === undefined || this.#hasBegun) return;
    let active = 0;
    for (const starter of this.#starters) active += starter.active;
    if (active > 1) return;
    this.#hasBegun = true;
    this.#timer?.cancel();
    this.#timer = event.clock.after(event.limitMs, () => event.recordShared(() => this.#open(event)));
    event.begin(true);
  }

  #open(event: LoneEvent): void {
    if (this.#current !== event) return;
    this.#timer?.cancel();
    this.#current = undefined;
    const now = event.clock.monotonic();
    this.#last = { clock: event.clock, pauseUntil: 2 * now - this.#since };
    for (const starter of this.#starters) starter.resume();
  }
}

/** Of this process: whatever ends it ends the events of all its hubs. */
export const loneEvents: LoneEvents = new LoneEvents();

const shortestLimitMs = 30_000;
const maxDoublings = 10;

/**
 * Returns how long an event may run alone.
 *
 * @param unproven number of crashes in which it should have been alone and was not
 */
export function loneLimitMs(unproven: number): number {
  return shortestLimitMs * 2 ** Math.min(unproven, maxDoublings);
}
