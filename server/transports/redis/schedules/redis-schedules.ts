import type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord, ScheduleStore } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import type { DataEpoch } from '../connection/data-epoch.js';
import { readArray, readNumber, readString, unexpected } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { emitArguments } from '../jobs/event-codec.js';
import { encodeName, serviceOf, serviceTypeOf, typeOf } from '../names.js';

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
  async claim({ name, definition, times, dueAt, events }: ScheduleClaim): Promise<ClaimResult> {
    const { service, commands, epoch, timeoutMs, processId } = this.#parts;
    const schedule = serviceTypeOf(service, name);
    const args = [processId(), schedule, definition, times, dueAt, events.length];
    const sent = events.flatMap((envelope) => emitArguments(envelope, service));
    const reply = await epoch.whileKnown(timeoutMs, (id) => commands.runScript(scripts.claim, [id, ...args, ...sent]));
    return readClaim(reply);
  }
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
