import type { ScheduleRecord, StoredSchedule } from '../../transports/transport.js';
import type { PauseSummary } from '../pauses.js';
import { cronDueTimes, type DueTimes, everyDueTimes } from './due-times.js';
import type { CatchUp, RegisteredSchedule } from './schedule.js';
import { dueEventId, readStoredBody } from './stored-schedule.js';

/** Schedule as the hub that registered it describes it. */
export interface ScheduleDescription {
  readonly name: string;
  readonly description?: string;
  /** Cron expression; absent if the schedule has a period. */
  readonly cron?: string;
  readonly timeZone?: string;
  /** Period in milliseconds. */
  readonly everyMs?: number;
  /** Type of the event that it emits. */
  readonly emit?: string;
  /** Name of the workflow that it starts. */
  readonly start?: string;
  readonly catchUp: CatchUp;
}

/** Schedule with its last and its next due time. */
export interface ScheduleIntrospection extends ScheduleDescription {
  /** Service that has the schedule, or of the hub that set it at run time. */
  readonly service: string;
  /** Number of running hubs that have the schedule. One that was set at run time, every hub with handlers or schedules has. */
  readonly processes: number;
  /** Present for a schedule that was set at run time: a random text that identifies it in place of its key. */
  readonly storedId?: string;
  /** Id of the event or run of the last due time of a schedule that was set at run time. */
  readonly lastId?: string;
  /** Present while the schedule or its service is paused. */
  readonly paused?: PauseSummary;
  /** Last due time that was claimed, in epoch milliseconds; absent if there is none. */
  readonly lastDueAt?: number;
  /** Next due time in epoch milliseconds; absent if there is none, or if no running hub has the schedule. */
  readonly nextDueAt?: number;
  /** The two due times after `nextDueAt`, in epoch milliseconds; absent without a cron expression or without `nextDueAt`. */
  readonly laterDueAt?: readonly number[];
}

/** Describes a schedule without its payload. */
export function describeSchedule(schedule: RegisteredSchedule): ScheduleDescription {
  const { name, description, cron, timeZone, everyMs, emit, start, catchUp } = schedule;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(cron !== undefined && { cron }),
    ...(timeZone !== undefined && { timeZone }),
    ...(everyMs !== undefined && { everyMs }),
    ...(emit !== undefined && { emit }),
    ...(start !== undefined && { start }),
    catchUp,
  };
}

/** Adds the state of a schedule to its description. */
export function introspectSchedule(
  description: ScheduleDescription,
  service: string,
  processes: number,
  record: ScheduleRecord | undefined,
  now: number,
  upcoming: UpcomingDueTimes,
): ScheduleIntrospection {
  const [nextDueAt, ...laterDueAt] =
    processes === 0 ? [] : upcoming.after(Math.max(now, record?.position ?? now), description);
  return {
    ...description,
    service,
    processes,
    ...(record?.lastDue !== undefined && { lastDueAt: record.lastDue }),
    ...(nextDueAt !== undefined && { nextDueAt }),
    ...(nextDueAt !== undefined && description.cron !== undefined && { laterDueAt }),
  };
}

/** Describes a schedule that was set at run time, without key and payload; `undefined` if it cannot be read. */
export function introspectStored(
  { body, position, lastDue }: StoredSchedule,
  processes: number,
  now: number,
  upcoming: UpcomingDueTimes,
): ScheduleIntrospection | undefined {
  let stored: ReturnType<typeof readStoredBody>;
  try {
    stored = readStoredBody(body);
  } catch {
    return undefined;
  }
  const { key: _, overlap: __, startAt = now, endAt = Number.POSITIVE_INFINITY, ...description } = stored.config;
  const ahead = processes === 0 ? [] : upcoming.after(Math.max(now, position, startAt - 1), description);
  const [nextDueAt, ...laterDueAt] = ahead.filter((at) => at <= endAt);
  return {
    ...description,
    service: stored.service,
    processes,
    storedId: stored.seed,
    ...(lastDue !== undefined && { lastDueAt: lastDue, lastId: dueEventId(stored, lastDue) }),
    ...(nextDueAt !== undefined && { nextDueAt }),
    ...(nextDueAt !== undefined && description.cron !== undefined && { laterDueAt }),
  };
}

/** Number of due times that are looked ahead. */
const maxDueTimes = 3;

/** Maximum number of cron expressions with retained due times. */
const maxExpressions = 1_000;

/** The next due times of an expression, for instants from `from` until before the first of them. */
interface LookAhead {
  readonly from: number;
  readonly dueTimes: readonly number[];
}

/** Times of a schedule, of which one is set. */
interface Times {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly everyMs?: number;
}

/** Next due times of schedules. Retains those of cron expressions until the first has passed: to parse one takes longer than the rest of a schedule's introspection. */
export class UpcomingDueTimes {
  readonly #retained = new Map<string, LookAhead>();

  /** Returns the next three due times after an instant, in epoch milliseconds; fewer if the schedule has no more. */
  after(instant: number, { cron, timeZone = 'UTC', everyMs }: Times): readonly number[] {
    if (everyMs !== undefined) return take(everyDueTimes(everyMs), instant);
    if (cron === undefined) return [];
    const key = JSON.stringify([cron, timeZone]);
    const retained = this.#retained.get(key);
    if (retained !== undefined && retained.from <= instant && instant < (retained.dueTimes[0] ?? Infinity)) {
      return retained.dueTimes;
    }
    const dueTimes = cronTimes(cron, timeZone, instant);
    this.#retained.delete(key);
    this.#retained.set(key, { from: instant, dueTimes });
    const [oldest] = this.#retained.keys();
    if (this.#retained.size > maxExpressions && oldest !== undefined) this.#retained.delete(oldest);
    return dueTimes;
  }
}

function cronTimes(cron: string, timeZone: string, after: number): readonly number[] {
  try {
    return take(cronDueTimes(cron, timeZone), after);
  } catch {
    // Another version of the package, or another Node, may know expressions and zones that this process does not.
    return [];
  }
}

function take(dueTimes: DueTimes, after: number): readonly number[] {
  const taken: number[] = [];
  for (let due = dueTimes.next(after); due !== undefined && taken.length < maxDueTimes; due = dueTimes.next(due)) {
    taken.push(due);
  }
  return taken;
}
