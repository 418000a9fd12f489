import { HubError, InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Envelope } from '../../transports/delivery.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { Overlap } from '../events/event.js';
import { boundedDueTimes, cronDueTimes, type DueTimes, everyDueTimes } from './due-times.js';
import {
  type CatchUp,
  type RegisteredSchedule,
  resolveSchedule,
  type ScheduleConfig,
  type ScheduleTarget,
  type ScheduleTimes,
} from './schedule.js';

/** Options of `hub.schedules.set`. */
export type StoredScheduleConfig<TPayload = unknown> = ScheduleTimes &
  ScheduleTarget<TPayload> & {
    /** Name: 1 to 512 characters, none of them a control character. Schedules of one name differ by their `key`. */
    name: string;
    /** Distinguishes schedules of one name, such as the id of a customer: as a name. @default none */
    key?: string;
    /** Text for the dashboard. */
    description?: string;
    /** Payload of each event or run. Its stored form has at most 16 KiB, together with the other options. */
    payload: NoInfer<TPayload>;
    /**
     * Due times to make up for that passed while no process claimed them: the `'last'` one, `'all'` of them (at most 1,000,
     * the newest), or `'none'`. @default 'last'
     */
    catchUp?: CatchUp;
    /** As in a {@link ScheduleConfig}. @default that of the target */
    overlap?: Overlap;
    /** First instant with a due time, as a date or in epoch milliseconds. @default the time at which it is set */
    startAt?: Date | number;
    /** Last instant with a due time, as a date or in epoch milliseconds. @default none */
    endAt?: Date | number;
  };

/** Event, or start of a run, of a schedule that was set at run time: all that `emit` computes of the payload. */
export interface ScheduledEvent
  extends Pick<Envelope, 'type' | 'body' | 'key' | 'service' | 'receives' | 'cancelOn' | 'overlap'> {
  readonly tags?: readonly string[] | undefined;
}

/** Options of a stored schedule that were checked. Their order is that of the stored text. */
export interface StoredOptions
  extends Pick<
    RegisteredSchedule,
    'name' | 'description' | 'cron' | 'timeZone' | 'everyMs' | 'emit' | 'start' | 'catchUp' | 'overlap'
  > {
  readonly key?: string;
  /** Epoch milliseconds. */
  readonly startAt?: number;
  /** Epoch milliseconds. */
  readonly endAt?: number;
}

/** Text of a stored schedule, parsed. */
export interface StoredBody {
  readonly config: StoredOptions;
  readonly event: ScheduledEvent;
  /** Service of the hub that set it. */
  readonly service: string;
  /** Random text from which the ids of its events derive. */
  readonly seed: string;
}

/** Maximum number of characters of a {@link StoredBody}. */
export const maxStoredLength = 16_384;

/** Checks the options of `hub.schedules.set`. @throws {InvalidOptionError | PayloadNotJsonError} */
export function resolveStored(config: StoredScheduleConfig): StoredOptions {
  const method = 'hub.schedules.set';
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError(method, 'an object', config);
  const { key, startAt, endAt, ...rest } = config;
  // The compiler does not tell the two kinds of times apart in a rest.
  const schedule = resolveSchedule(rest as ScheduleConfig, method);
  const check = new OptionChecker({}, [], `schedule "${schedule.name}"`);
  check.that(typeof config.payload !== 'function', 'payload', 'a JSON value', config.payload);
  check.name('key', key);
  const [from, to] = [instantOf('startAt', startAt, check), instantOf('endAt', endAt, check)];
  check.that(from === undefined || to === undefined || from <= to, 'endAt', 'startAt or later', endAt);
  const { name, description, cron, timeZone, everyMs, emit, start, catchUp, overlap } = schedule;
  return {
    name,
    ...(key !== undefined && { key }),
    ...(description !== undefined && { description }),
    ...(cron !== undefined && { cron }),
    ...(timeZone !== undefined && { timeZone }),
    ...(everyMs !== undefined && { everyMs }),
    ...(emit !== undefined && { emit }),
    ...(start !== undefined && { start }),
    catchUp,
    ...(overlap !== undefined && { overlap }),
    ...(from !== undefined && { startAt: from }),
    ...(to !== undefined && { endAt: to }),
  };
}

const maxInstant = 8_640_000_000_000_000;

function instantOf(option: string, value: unknown, check: OptionChecker): number | undefined {
  if (value === undefined) return undefined;
  const instant = value instanceof Date ? value.getTime() : value;
  const isInstant = typeof instant === 'number' && Math.abs(instant) <= maxInstant;
  check.that(isInstant, option, 'a date or epoch milliseconds', value);
  return Number(instant);
}

/** Returns the due times of a stored schedule. */
export function storedDueTimes({ cron, timeZone = 'UTC', everyMs, startAt, endAt }: StoredOptions): DueTimes {
  const dueTimes = everyMs === undefined ? cronDueTimes(cron ?? '', timeZone) : everyDueTimes(everyMs);
  return boundedDueTimes(dueTimes, startAt, endAt);
}

/** Returns the due times of a stored schedule as text: one that changes them counts from then on. */
export function storedTimes({ cron, timeZone, everyMs, startAt, endAt }: StoredOptions): string {
  return JSON.stringify([cron, timeZone, everyMs, startAt, endAt]);
}

/** Returns the id of the event or run that a stored schedule starts at a due time in epoch milliseconds. */
export function dueEventId({ seed, event }: Pick<StoredBody, 'seed' | 'event'>, dueAt: number): string {
  return deriveId(seed, `schedule:${event.type}`, String(dueAt));
}

/** A stored schedule cannot be read: it was stored with another codec, or damaged. */
export class UnreadableScheduleError extends HubError {
  constructor() {
    super(
      'ERR_UNREADABLE_SCHEDULE',
      'a stored schedule cannot be read: use the codec with which it was set, or remove it and set it again',
    );
  }
}

/** Parses the text of a stored schedule. @throws {UnreadableScheduleError} */
export function readStoredBody(text: string): StoredBody {
  try {
    const body: StoredBody = JSON.parse(text);
    if (typeof body.config.name === 'string' && typeof body.event.body === 'string' && typeof body.seed === 'string') {
      return body;
    }
  } catch {
    // The error below names the way out.
  }
  throw new UnreadableScheduleError();
}
