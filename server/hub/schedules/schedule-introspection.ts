import type { ScheduleRecord } from '../../transports/schedules.js';
import type { CatchUp, RegisteredSchedule } from './schedule.js';
import type { UpcomingDueTimes } from './upcoming-due-times.js';

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

/** Schedule of a service, with its last and its next due time. */
export interface ScheduleIntrospection extends ScheduleDescription {
  readonly service: string;
  /** Number of running hubs that have the schedule. */
  readonly processes: number;
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
