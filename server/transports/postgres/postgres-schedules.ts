import { lookRegularly, systemClock, type Timer } from '../clock.js';
import {
  type ClaimResult,
  type Logger,
  maxStoredSchedules,
  type ScheduleClaim,
  type ScheduleOpening,
  type ScheduleRecord,
  type ScheduleStore,
  type StoredSchedule,
  type StoredSchedulePage,
  type TakenSchedules,
} from '../transport.js';
import type { Database } from './connection/database.js';
import { readFields, readList, readNumber, readOptional, readText, unexpected } from './connection/fields.js';
import type { Listener } from './connection/listener.js';
import { readSchedules } from './reads/lookups.js';
import { envelopeFields } from './reads/stored-events.js';

// Many schedules that become due at about the same time are looked at together.
const joinMs = 1_000;
// A notification may be lost.
const lookMs = 30_000;

/** Parts that the schedules share with the other parts of their connection. */
export interface PostgresSchedulesParts {
  readonly database: Database;
  readonly listener: Listener;
  readonly service: string;
  readonly logger: Logger;
  /** Returns the id of the open connection. */
  readonly member: () => number | undefined;
}

/** Schedules of a service. */
export class PostgresSchedules implements ScheduleStore {
  readonly #database: Database;
  readonly #listener: Listener;
  readonly #service: string;
  readonly #logger: Logger;
  readonly #member: () => number | undefined;
  /** Ends of the watches. */
  readonly #watches = new Set<() => Promise<void>>();

  constructor({ database, listener, service, logger, member }: PostgresSchedulesParts) {
    this.#database = database;
    this.#listener = listener;
    this.#service = service;
    this.#logger = logger;
    this.#member = member;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return readSchedules(await this.#database.read('schedules_json', []));
  }

  async open(openings: readonly ScheduleOpening[]): Promise<boolean> {
    const args = [this.#service, this.#member() ?? null, JSON.stringify(openings)];
    return (await this.#database.call('open_schedules', args)) === true;
  }

  async claim({ name, definition, times, dueAt, events, stored }: ScheduleClaim): Promise<ClaimResult> {
    const accepted = JSON.stringify(events.map(envelopeFields));
    const reply = await (stored === undefined
      ? this.#database.call('claim_schedule', [
          ...[this.#service, this.#member() ?? null, name, definition, times, dueAt, accepted],
        ])
      : this.#database.call('claim_stored', [
          ...[this.#service, name, definition, dueAt, stored.lookAt ?? null, accepted],
        ]));
    const { status, earlyMs, position } = readFields(reply);
    if (status === 'claimed' || status === 'replaced') return { status };
    if (status === 'already') return { status, position: readNumber(position) };
    if (status === 'early') return { status, earlyMs: readNumber(earlyMs) };
    throw unexpected('the result of a claim', status);
  }

  async put(
    { id, definition, position, lookAt, body }: Omit<StoredSchedule, 'lastDue'>,
    expected: string | undefined,
  ): Promise<'stored' | 'changed' | 'full'> {
    const args = [id, expected ?? null, maxStoredSchedules, definition, position, lookAt ?? null, body];
    const reply = await this.#database.call('put_schedule', args);
    if (reply === 'stored' || reply === 'changed' || reply === 'full') return reply;
    throw unexpected('the result of storing a schedule', reply);
  }

  async get(id: string): Promise<StoredSchedule | undefined> {
    const [found] = readStored(await this.#database.read('get_schedule', [id]));
    return found;
  }

  async page(after: string, limit: number): Promise<StoredSchedulePage> {
    const { total, schedules } = readFields(await this.#database.read('page_schedules', [after, limit]));
    return { total: readNumber(total), schedules: readStored(schedules) };
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#database.call('remove_schedule', [id])) === true;
  }

  async take(limit: number, holdMs: number): Promise<TakenSchedules> {
    const { nextInMs, schedules } = readFields(await this.#database.call('take_schedules', [limit, holdMs]));
    return { nextInMs: readOptional(nextInMs, readNumber), schedules: readStored(schedules) };
  }

  async watch(onEarlier: () => void): Promise<() => void> {
    let next: Timer | undefined;
    let nextAt = 0;
    const tell = (): void => {
      next = undefined;
      nextAt = systemClock.monotonic() + joinMs;
      onEarlier();
    };
    const tellOnce = (): void => {
      if (next !== undefined) return;
      const waitMs = nextAt - systemClock.monotonic();
      if (waitMs > 0) next = systemClock.after(waitMs, tell);
      else tell();
    };
    const remove = await this.#listener.add({ onSchedule: tellOnce, onMissed: tellOnce }, this.#logger);
    const endLooks = lookRegularly(tellOnce, lookMs);
    const end = async (): Promise<void> => {
      this.#watches.delete(end);
      endLooks();
      next?.cancel();
      await remove();
    };
    this.#watches.add(end);
    return () => void end();
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    for (const end of [...this.#watches]) await end();
  }
}

function readStored(value: unknown): readonly StoredSchedule[] {
  return readList(value).map((each) => {
    const { id, definition, position, lastDue, lookAt, body } = readFields(each);
    return {
      ...{ id: readText(id), definition: readText(definition), body: readText(body), position: readNumber(position) },
      ...{ lastDue: readOptional(lastDue, readNumber), lookAt: readOptional(lookAt, readNumber) },
    };
  });
}
