import type { EventDetails } from './introspection/event-search.js';
import { scheduledId } from './schedules/schedule.js';
import type { ScheduleIntrospection } from './schedules/schedule-introspection.js';
import type { StoredScheduleConfig } from './schedules/stored-schedule.js';

/** Outcome of the last due time of a schedule, while its event or run is pending or retained. */
export type ScheduleOutcome = Pick<EventDetails, 'id' | 'kind' | 'type' | 'status' | 'endedAt' | 'runMs' | 'error'>;

/** Schedule with its last outcome. */
export interface ScheduleState extends ScheduleIntrospection {
  /** Key of a schedule that was set at run time. */
  readonly key?: string;
  /** First instant with a due time, in epoch milliseconds, if one was set. */
  readonly startAt?: number;
  /** Last instant with a due time, in epoch milliseconds, if one was set. */
  readonly endAt?: number;
  /** Event or run of the last due time; absent if none was claimed or it is no longer retained. */
  readonly last?: ScheduleOutcome;
}

/** Options of `hub.schedules.list`. */
export interface ListSchedulesOptions {
  /** Property `next` of the list before. @default the first schedules */
  after?: string;
  /** Maximum number of schedules, at most 200. @default 50 */
  limit?: number;
}

/** Result of `hub.schedules.list`. */
export interface ScheduleList {
  /** Schedules of `hub.schedule` first, by service and name; then those that were set at run time, by name and key. */
  readonly schedules: readonly ScheduleState[];
  /** Number of all schedules. */
  readonly total: number;
  /** Value of `after` for the list that follows; absent at the end. */
  readonly next?: string;
}

/** Schedules that are set at run time. */
export interface Schedules {
  /**
   * Stores a schedule, in place of the one of its name and key. Returns `false` if that one has equal values: then nothing
   * changes. Each due time has one event over all processes; any hub with handlers or schedules emits it, also after the
   * process that set it has ended. A schedule with other times counts from now on. The payload is checked, and its key and
   * tags are computed, now.
   *
   * @example
   * ```ts
   * await hub.schedules.set({ name: 'digest', key: customerId, cron: '0 7 * * *', timeZone, emit: digestDue, payload });
   * ```
   * @throws {InvalidOptionError | TooManySchedulesError | HubNotStartedError | HubStoppedError | HubObserverError}
   * @throws the errors of `emit`
   */
  set<TPayload>(config: StoredScheduleConfig<TPayload>): Promise<boolean>;
  /**
   * Returns a schedule that was set at run time.
   *
   * @throws {InvalidOptionError | UnreadableScheduleError}
   */
  get(name: string, key?: string): Promise<ScheduleState | undefined>;
  /** Returns schedules of all services, and those that were set at run time. @throws {InvalidOptionError} */
  list(options?: ListSchedulesOptions): Promise<ScheduleList>;
  /**
   * Removes a schedule that was set at run time, with its payload. Returns `false` if there is none. Events that it emitted
   * remain.
   *
   * @throws {InvalidOptionError | HubNotStartedError | HubStoppedError}
   */
  remove(name: string, key?: string): Promise<boolean>;
}

/** Returns the outcome of the last due time of a schedule; `undefined` if there is none or it is no longer retained. */
export async function readOutcome(
  { service, name, lastDueAt, lastId }: ScheduleIntrospection,
  find: (id: string) => Promise<readonly EventDetails[]>,
): Promise<ScheduleOutcome | undefined> {
  if (lastDueAt === undefined) return undefined;
  const found = await find(lastId ?? scheduledId(service, name, lastDueAt));
  const last = found.find(({ status }) => status === 'failed') ?? found[0];
  if (last === undefined) return undefined;
  const { id, kind, type, status, endedAt, runMs, error } = last;
  return {
    ...{ id, kind, type, status },
    ...(endedAt !== undefined && { endedAt }),
    ...(runMs !== undefined && { runMs }),
    ...(error !== undefined && { error }),
  };
}
