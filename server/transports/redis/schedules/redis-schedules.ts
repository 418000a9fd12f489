import { lookRegularly } from '../../clock.js';
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
} from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import type { DataEpoch } from '../connection/data-epoch.js';
import { readArray, readNumber, readString, unexpected } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { emitArguments } from '../jobs/event-codec.js';
import { encodeName, serviceOf, serviceTypeOf, typeOf } from '../names.js';

const lookMs = 1_000;

/** Parts of a connection that its schedules use. */
export interface RedisSchedulesParts {
  readonly service: string;
  readonly commands: CommandClient;
  readonly epoch: DataEpoch;
  /** Maximum time to wait for services that register again after a loss of data. */
  readonly timeoutMs: number;
  /** Returns the id under which the process is registered; a schedule is open while the registration lasts. */
  readonly processId: () => string;
}

/** Schedules of the service of a connection, on Redis. */
export class RedisSchedules implements ScheduleStore {
  readonly #parts: RedisSchedulesParts;

  constructor(parts: RedisSchedulesParts) {
    this.#parts = parts;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return readSchedules(await this.#parts.commands.runScript(scripts.schedules, []));
  }

  async open(openings: readonly ScheduleOpening[]): Promise<boolean> {
    if (openings.length === 0) return true;
    const { service, commands, processId } = this.#parts;
    const rows = openings.flatMap(({ name, definition, times, position, revision }) => [
      serviceTypeOf(service, name),
      definition,
      times,
      position,
      revision ?? '',
    ]);
    const args = [encodeName(service), processId(), openings.length, ...rows];
    return readNumber(await commands.runScript(scripts.openSchedules, args)) === 1;
  }

  /** If the reply of a claim is lost, its repetition returns `already`. */
  async claim({ name, definition, times, dueAt, events, stored }: ScheduleClaim): Promise<ClaimResult> {
    const { service, commands, epoch, timeoutMs, processId } = this.#parts;
    const [script, schedule] =
      stored === undefined
        ? [scripts.claim, [processId(), serviceTypeOf(service, name), definition, times, dueAt]]
        : [scripts.claimStored, [name, definition, dueAt, stored.lookAt ?? '']];
    const sent = events.flatMap((envelope) => emitArguments(envelope, service));
    const args = [...schedule, events.length, ...sent];
    return readClaim(await epoch.whileKnown(timeoutMs, (id) => commands.runScript(script, [id, ...args])));
  }

  async put(
    { id, definition, position, lookAt, body }: Omit<StoredSchedule, 'lastDue'>,
    expected: string | undefined,
  ): Promise<'stored' | 'changed' | 'full'> {
    const args = [id, expected ?? '', maxStoredSchedules, definition, position, lookAt ?? '', body];
    const reply = readString(await this.#parts.commands.runScript(scripts.putSchedule, args));
    if (reply === 'stored' || reply === 'changed' || reply === 'full') return reply;
    throw unexpected('the result of storing a schedule', reply);
  }

  async get(id: string): Promise<StoredSchedule | undefined> {
    const reply = await this.#parts.commands.runScript(scripts.getSchedule, [id]);
    return reply === null ? undefined : readStored(reply);
  }

  async page(after: string, limit: number): Promise<StoredSchedulePage> {
    const [total, rows] = readArray(await this.#parts.commands.runScript(scripts.pageSchedules, [after, limit]));
    return { total: readNumber(total), schedules: readArray(rows).map(readStored) };
  }

  async remove(id: string): Promise<boolean> {
    return readNumber(await this.#parts.commands.runScript(scripts.removeSchedule, [id])) === 1;
  }

  async take(limit: number, holdMs: number): Promise<TakenSchedules> {
    const [next, rows] = readArray(await this.#parts.commands.runScript(scripts.takeSchedules, [limit, holdMs]));
    return { nextInMs: readPresent(next), schedules: readArray(rows).map(readStored) };
  }

  async watch(onEarlier: () => void): Promise<() => void> {
    return lookRegularly(onEarlier, lookMs);
  }
}

function readStored(row: unknown): StoredSchedule {
  const [id = '', definition = '', position, lastDue, lookAt, body = ''] = readArray(row).map(readString);
  return {
    ...{ id, definition, body, position: readNumber(position) },
    ...{ lastDue: readPresent(lastDue), lookAt: readPresent(lookAt) },
  };
}

function readPresent(value: unknown): number | undefined {
  return value === '' ? undefined : readNumber(value);
}

/** @throws {UnexpectedDataError} */
function readClaim(reply: unknown): ClaimResult {
  const [status, value] = readArray(reply).map(readString);
  if (status === 'claimed' || status === 'replaced') return { status };
  if (status === 'already') return { status, position: readNumber(value) };
  if (status === 'early') return { status, earlyMs: readNumber(value) };
  throw unexpected('the result of a claim', reply);
}

/** Returns the result of `readSchedules`. */
export function readSchedules(reply: unknown): ScheduleRecord[] {
  return readArray(reply).map((row) => {
    const [schedule = '', definition = '', times = '', position, lastDue, removed, isOpen, revision] =
      readArray(row).map(readString);
    return {
      service: serviceOf(schedule),
      name: typeOf(schedule),
      definition,
      times,
      position: readNumber(position),
      lastDue: lastDue === '' ? undefined : readNumber(lastDue),
      isOpen: isOpen === '1',
      isRemoved: removed === '1',
      revision: readNumber(revision),
    };
  });
}
