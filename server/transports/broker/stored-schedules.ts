import type { Clock } from '../clock.js';
import {
  type ClaimResult,
  maxStoredSchedules,
  type ScheduleClaim,
  type ScheduleStore,
  type StoredSchedule,
  type StoredSchedulePage,
  type TakenSchedules,
} from '../transport.js';
import type { Journal } from './journal.js';
import { type DelayedItem, DelayQueue } from './queues.js';
import type { RevisionCounter } from './type-stats.js';

interface Kept {
  readonly schedule: StoredSchedule;
  /** Place among the schedules that are to be taken; `undefined` if it is never due again. */
  readonly place: DelayedItem<string> | undefined;
}

/** Schedules that were set at run time on one transport. */
export class StoredSchedules {
  readonly #clock: Clock;
  readonly #revision: RevisionCounter;
  readonly #journal: Journal;
  readonly #kept = new Map<string, Kept>();
  readonly #due = new DelayQueue<string>();
  readonly #listeners = new Set<() => void>();
  /** All ids in their order; `undefined` after one was added or removed. */
  #ids: readonly string[] | undefined;

  constructor(clock: Clock, revision: RevisionCounter, journal: Journal) {
    this.#clock = clock;
    this.#revision = revision;
    this.#journal = journal;
  }

  put(
    schedule: Omit<StoredSchedule, 'lastDue'>,
    expected: string | undefined,
  ): Awaited<ReturnType<ScheduleStore['put']>> {
    const known = this.get(schedule.id);
    if (known?.definition !== expected) return 'changed';
    if (known === undefined && this.#kept.size >= maxStoredSchedules) return 'full';
    const position = Math.max(schedule.position, known?.position ?? Number.NEGATIVE_INFINITY);
    const { id, definition, lookAt, body } = schedule;
    const changed = { id, definition, position, lastDue: known?.lastDue, lookAt, body };
    this.#journal.storedSchedule(changed);
    this.restore(changed);
    for (const listener of [...this.#listeners]) listener();
    return 'stored';
  }

  get(id: string): StoredSchedule | undefined {
    return this.#kept.get(id)?.schedule;
  }

  page(after: string, limit: number): StoredSchedulePage {
    this.#ids ??= [...this.#kept.keys()].sort();
    const start = after === '' ? 0 : firstAfter(this.#ids, after);
    const schedules = this.#ids.slice(start, start + limit).flatMap((id) => this.get(id) ?? []);
    return { schedules, total: this.#kept.size };
  }

  remove(id: string): boolean {
    const kept = this.#kept.get(id);
    if (kept === undefined) return false;
    if (kept.place !== undefined) this.#due.delete(kept.place);
    this.#kept.delete(id);
    this.#ids = undefined;
    this.#revision.increment();
    this.#journal.removedSchedule(id);
    return true;
  }

  take(limit: number, holdMs: number): TakenSchedules {
    const now = this.#clock.now();
    const schedules: StoredSchedule[] = [];
    while (schedules.length < limit) {
      const schedule = this.get(this.#due.shift(now) ?? '');
      if (schedule === undefined) break;
      schedules.push(schedule);
    }
    // Not stored: a process that starts takes them at once.
    for (const schedule of schedules) {
      this.#kept.set(schedule.id, { schedule, place: this.#due.push(schedule.id, now + holdMs) });
    }
    const next = this.#due.nextDueAt;
    return { schedules, nextInMs: next === undefined ? undefined : Math.max(0, next - now) };
  }

  /** @param accept accepts the events of the claim; it may throw */
  claim(
    { name, definition, dueAt }: ScheduleClaim,
    { lookAt }: Pick<StoredSchedule, 'lookAt'>,
    accept: () => void,
  ): ClaimResult {
    const earlyMs = dueAt - this.#clock.now();
    if (earlyMs > 0) return { status: 'early', earlyMs };
    const known = this.get(name);
    if (known?.definition !== definition) return { status: 'replaced' };
    if (dueAt <= known.position) return { status: 'already', position: known.position };
    accept();
    const claimed = { ...known, position: dueAt, lastDue: dueAt, lookAt };
    this.#journal.claimedSchedule(claimed);
    this.restore(claimed);
    return { status: 'claimed' };
  }

  watch(onEarlier: () => void): () => void {
    this.#listeners.add(onEarlier);
    return () => void this.#listeners.delete(onEarlier);
  }

  /** Adds a schedule that is stored already, in place of the one of its id. */
  restore(schedule: StoredSchedule): void {
    const { id, lookAt } = schedule;
    const known = this.#kept.get(id);
    if (known === undefined) this.#ids = undefined;
    if (known?.place !== undefined) this.#due.delete(known.place);
    this.#kept.set(id, { schedule, place: lookAt === undefined ? undefined : this.#due.push(id, lookAt) });
    this.#revision.increment();
  }
}

/** Returns the position of the first id after another one. */
function firstAfter(ids: readonly string[], after: string): number {
  let [from, to] = [0, ids.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((ids[middle] ?? '') <= after) from = middle + 1;
    else to = middle;
  }
  return from;
}
