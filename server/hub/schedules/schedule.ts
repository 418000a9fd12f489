import { createHash } from 'node:crypto';
import { InvalidOptionError, messageOf, quote } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { EventRef, WorkflowRef } from '../events/emit.js';
import { checkOverlap, type EventDefinitionConfig, type Overlap, referencedDefinitions } from '../events/event.js';
import { encodePayload } from '../events/payload.js';
import { isWorkflow } from '../runs/workflow.js';
import { cronDueTimes, type DueTimes, everyDueTimes, lastDueTimes } from './due-times.js';

/** Treatment of due times that passed while no process of the service ran. */
export type CatchUp = 'last' | 'all' | 'none';

/** Due times of a schedule: by a cron expression, or by a period. */
export type ScheduleTimes =
  | {
      /**
       * Cron expression of five fields, or of six with seconds first. Fixed times of day are due once per matching day:
       * at the end of the gap if clocks skip the time, and the first time if they show it twice. If seconds, minutes
       * or hours have a wildcard or a step, the schedule is due whenever clocks show a matching time.
       */
      cron: string;
      /** IANA time zone of the expression. @default 'UTC' */
      timeZone?: string;
      everyMs?: never;
    }
  | {
      /** Period in milliseconds, 100 or more, aligned to the epoch. */
      everyMs: number;
      cron?: never;
      timeZone?: never;
    };

/** Effect of a schedule: an event to emit, or a workflow to start. */
export type ScheduleTarget<TPayload> =
  | { emit: EventRef<TPayload, unknown> | string; start?: never }
  | { start: WorkflowRef<TPayload> | string; emit?: never };

/** Options of `hub.schedule`. */
export type ScheduleConfig<TPayload = unknown> = ScheduleTimes &
  ScheduleTarget<TPayload> & {
    /** Name, unique in the service: 1 to 512 characters, none of them a control character. */
    name: string;
    /** Text for the dashboard. */
    description?: string;
    /** Payload of each event or run, or a function that returns it for a due time. */
    payload: NoInfer<TPayload> | ((dueAt: Date) => NoInfer<TPayload>);
    /**
     * Due times to make up for that passed while no process of the service ran: the `'last'` one, `'all'` of them (at
     * most 1,000, the newest), or `'none'`. @default 'last'
     */
    catchUp?: CatchUp;
    /**
     * Decides what becomes of a due time while an event or a run of the same key is pending that an `overlap` applied to, as
     * the `overlap` of a definition does, in place of it. Requires that the target has a `key`; `'replace'`, that it has
     * `overlap: 'replace'` or `concurrencyPerKey: 1`. @default that of the target
     */
    overlap?: Overlap;
  };

/** A {@link ScheduleConfig} that was checked, with what derives from it. */
export interface RegisteredSchedule {
  readonly name: string;
  readonly description?: string;
  readonly cron?: string;
  readonly timeZone?: string;
  readonly everyMs?: number;
  readonly emit?: string;
  readonly start?: string;
  readonly catchUp: CatchUp;
  readonly overlap?: Overlap;
  readonly payload: unknown;
  readonly dueTimes: DueTimes;
  /** The times as text: a schedule that changes them counts from its start. */
  readonly times: string;
  /** Digest of everything: of processes with different definitions the last one that started holds. */
  readonly definition: string;
  readonly referenced: readonly EventDefinitionConfig[];
}

const optionNames = [
  'name',
  'description',
  'cron',
  'timeZone',
  'everyMs',
  'emit',
  'start',
  'payload',
  'catchUp',
  'overlap',
];
const minEveryMs = 100;
const catchUps: readonly unknown[] = ['last', 'all', 'none'] satisfies CatchUp[];

/**
 * Checks the options of a schedule.
 *
 * @param method method that has the options, for errors
 * @throws {InvalidOptionError | PayloadNotJsonError}
 */
export function resolveSchedule(config: ScheduleConfig, method: string = 'hub.schedule'): RegisteredSchedule {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError(method, 'an object', config);
  checkName(config.name, `name of ${method}`);
  const { name, description, cron, timeZone = 'UTC', everyMs, payload, catchUp = 'last', overlap } = config;
  const owner = `schedule ${quote(name)}`;
  const check = new OptionChecker(config, optionNames, owner);
  check.string('description', description);
  check.that((cron === undefined) !== (everyMs === undefined), 'cron', 'set if everyMs is not, and only then', cron);
  check.that(everyMs === undefined || config.timeZone === undefined, 'timeZone', 'set only with cron', timeZone);
  check.that('payload' in config && payload !== undefined, 'payload', 'a JSON value or a function', payload);
  check.that(catchUps.includes(catchUp), 'catchUp', "'last', 'all' or 'none'", catchUp);
  checkOverlap(overlap, check);
  const target = resolveTarget(config, check);
  const times = cron === undefined ? { everyMs } : { cron, timeZone };
  const described = { ...times, ...target, catchUp, ...(overlap !== undefined && { overlap }) };
  const content =
    typeof payload === 'function' ? String(payload) : encodePayload(payload, owner, Number.POSITIVE_INFINITY);
  const digest = createHash('sha1').update(JSON.stringify([described, content]));
  return {
    name,
    ...(description !== undefined && { description }),
    ...described,
    payload,
    dueTimes: resolveDueTimes(config, owner, check),
    times: JSON.stringify(times),
    definition: digest.digest('hex'),
    referenced: referencedDefinitions(config),
  };
}

function resolveTarget(
  { emit, start }: ScheduleConfig,
  check: OptionChecker,
): Pick<RegisteredSchedule, 'emit' | 'start'> {
  check.that((emit === undefined) !== (start === undefined), 'emit', 'set if start is not, and only then', emit);
  if (start !== undefined) {
    const workflow = typeof start === 'string' ? start : start?.name;
    const isValid = typeof start === 'string' || isWorkflow(start);
    check.that(isValid, 'start', 'the name of a workflow, or a return value of createWorkflow', start);
    return { start: workflow };
  }
  const type = typeof emit === 'string' ? emit : emit?.type;
  check.that(typeof type === 'string', 'emit', 'the type of an event, or a return value of hub.event', emit);
  return { emit: String(type) };
}

function resolveDueTimes(
  { cron, timeZone = 'UTC', everyMs }: ScheduleConfig,
  owner: string,
  check: OptionChecker,
): DueTimes {
  if (everyMs !== undefined) {
    check.durationMs('everyMs', everyMs, { min: minEveryMs });
    return everyDueTimes(everyMs);
  }
  check.that(typeof cron === 'string', 'cron', 'a cron expression', cron);
  // croner replaces it with the time at which a process reads the expression: processes would differ.
  check.that(!String(cron).includes('?'), 'cron', "a cron expression without '?'", cron);
  check.that(isTimeZone(timeZone), 'timeZone', 'an IANA time zone, such as Europe/Oslo', timeZone);
  try {
    const dueTimes = cronDueTimes(cron ?? '', timeZone);
    check.that(dueTimes.next(Date.now()) !== undefined, 'cron', 'a cron expression with a due time', cron);
    return dueTimes;
  } catch (error) {
    if (error instanceof InvalidOptionError) throw error;
    throw new InvalidOptionError(`cron of ${owner}`, `a cron expression (${messageOf(error)})`, cron);
  }
}

function isTimeZone(name: unknown): boolean {
  if (typeof name !== 'string') return false;
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Maximum number of due times that one schedule makes up for. */
const maxCaughtUp = 1_000;

/**
 * Returns the instant after which a schedule claims every due time, one after the other. Due times between `position` and
 * that instant are skipped.
 *
 * @param position due time up to which the schedule has been served
 * @param graceMs milliseconds for which a due time that passed does not count as missed
 */
export function catchUpPosition(
  { dueTimes, catchUp }: { readonly dueTimes: DueTimes; readonly catchUp: CatchUp },
  position: number,
  now: number,
  graceMs: number,
): number {
  if (catchUp === 'none') return Math.max(position, now - graceMs);
  const [first] = lastDueTimes(dueTimes, position, now, catchUp === 'all' ? maxCaughtUp : 1);
  if (first === undefined) return position;
  const beforeFirst = Math.max(position, first - 1);
  return catchUp === 'all' ? beforeFirst : Math.max(position, Math.min(beforeFirst, now - graceMs));
}

/** Returns the id of the event or run that a schedule starts at a due time in epoch milliseconds. */
export function scheduledId(service: string, schedule: string, dueAt: number): string {
  return deriveId(service, `schedule:${schedule}`, String(dueAt));
}
