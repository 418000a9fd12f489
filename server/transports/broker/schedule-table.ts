import type { Clock } from '../clock.js';
import type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord } from '../transport.js';
import type { Journal } from './journal.js';
import type { RevisionCounter } from './type-stats.js';

interface Schedule extends Omit<ScheduleRecord, 'isOpen'> {
  /** Definitions of the connections that have the schedule. */
  readonly openedBy: ReadonlyMap<object, string>;
}

/** Schedules of all services on one transport. */
export class ScheduleTable {
  readonly #clock: Clock;
  readonly #transportRevision: RevisionCounter;
  readonly #journal: Journal;
  readonly #schedules = new Map<string, Schedule>();

  constructor(clock: Clock, transportRevision: RevisionCounter, journal: Journal) {
    this.#clock = clock;
    this.#journal = journal;
    this.#transportRevision = transportRevision;
  }

  records(): readonly ScheduleRecord[] {
    return [...this.#schedules.values()].map(({ openedBy, ...record }) => ({ ...record, isOpen: openedBy.size > 0 }));
  }

  open(service: string, connection: object, openings: readonly ScheduleOpening[]): boolean {
    const isCurrent = ({ name, revision }: ScheduleOpening): boolean =>
      this.#find(service, name)?.revision === revision;
    if (!openings.every(isCurrent)) return false;
    if (openings.length === 0) return true;
    for (const schedule of this.#schedules.values()) {
      if (schedule.service === service) this.#set({ ...schedule, isRemoved: true });
    }
    for (const { name, definition, times, position } of openings) {
      const known = this.#find(service, name);
      const openedBy = new Map(known?.openedBy).set(connection, definition);
      const lastDue = known?.lastDue;
      this.#set({ service, name, definition, times, position, lastDue, openedBy, isRemoved: false, revision: 0 });
    }
    return true;
  }

  /** @param accept accepts the events of the claim; it may throw */
  claim(service: string, connection: object, claim: ScheduleClaim, accept: () => void): ClaimResult {
    const { name, definition, times, dueAt } = claim;
    const earlyMs = dueAt - this.#clock.now();
    if (earlyMs > 0) return { status: 'early', earlyMs };
    const known = this.#find(service, name);
    if (known !== undefined && known.definition !== definition) {
      if ([...known.openedBy.values()].includes(known.definition)) return { status: 'replaced' };
    }
    if (known !== undefined && dueAt <= known.position) return { status: 'already', position: known.position };
    accept();
    const openedBy = known?.openedBy ?? new Map([[connection, definition]]);
    const changed = { definition, times, position: dueAt, lastDue: dueAt, openedBy };
    this.#set({ service, name, isRemoved: false, revision: 0, ...known, ...changed });
    return { status: 'claimed' };
  }

  close(connection: object): void {
    for (const schedule of this.#schedules.values()) {
      if (!schedule.openedBy.has(connection)) continue;
      const openedBy = new Map(schedule.openedBy);
      openedBy.delete(connection);
      this.#set({ ...schedule, openedBy });
    }
  }

  #find(service: string, name: string): Schedule | undefined {
    return this.#schedules.get(keyOf(service, name));
  }

  /** Adds a schedule that is stored already. */
  restore(record: Omit<ScheduleRecord, 'isOpen' | 'revision'>): void {
    this.#keep({ ...record, revision: 0, openedBy: new Map() });
  }

  #set(schedule: Schedule): void {
    const { openedBy: _, revision: __, ...record } = schedule;
    this.#journal.schedule(record);
    this.#keep(schedule);
  }

  #keep(schedule: Schedule): void {
    this.#transportRevision.increment();
    const { service, name } = schedule;
    this.#schedules.set(keyOf(service, name), { ...schedule, revision: this.#transportRevision.value });
  }
}

function keyOf(service: string, name: string): string {
  return JSON.stringify([service, name]);
}
