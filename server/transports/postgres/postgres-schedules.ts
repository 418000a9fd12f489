import { lookRegularly } from '../clock.js';
import {
  type ClaimResult,
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
import { readSchedules } from './reads/lookups.js';
import { envelopeFields } from './reads/stored-events.js';

/** Schedules of a service. */
export class PostgresSchedules implements ScheduleStore {
  readonly #database: Database;
  readonly #service: string;
  readonly #member: () => number | undefined;

  /** @param member returns the id of the open connection */
  constructor(database: Database, service: string, member: () => number | undefined) {
    this.#database = database;
    this.#service = service;
    this.#member = member;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return readSchedules(await this.#database.call('schedules_json', []));
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
    const [found] = readStored(await this.#database.call('get_schedule', [id]));
    return found;
  }

  async page(after: string, limit: number): Promise<StoredSchedulePage> {
    const { total, schedules } = readFields(await this.#database.call('page_schedules', [after, limit]));
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
    return lookRegularly(onEarlier);
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
