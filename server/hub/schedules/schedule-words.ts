import type { ScheduleDescription } from './schedule-introspection.js';

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const;

/**
 * Returns the times at which a schedule is due in words: "every day at 07:30, Europe/Berlin", "every 5 minutes"; `undefined`
 * for rare cron expressions and for parts of a second.
 */
export function scheduleWords({
  cron = '',
  timeZone = 'UTC',
  everyMs,
}: Pick<ScheduleDescription, 'cron' | 'timeZone' | 'everyMs'>): string | undefined {
  if (everyMs === undefined) {
    const words = cronWords(cron);
    return words && `${words}, ${timeZone}`;
  }
  const [unitMs, unit] = UNITS.find(([ms]) => everyMs % ms === 0) ?? [];
  if (unitMs === undefined) return undefined;
  return everyMs === unitMs ? `every ${unit}` : `every ${everyMs / unitMs} ${unit}s`;
}

/** Values of a field: all of them, every nth from 0, or those from `first` to `last`. A list has its values in order. */
type Field =
  | { readonly kind: 'all' }
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'range'; readonly first: number; readonly last: number }
  | { readonly kind: 'list'; readonly values: readonly number[] };

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
};

/** Largest number of times of day that are listed. */
const LISTED_TIMES = 6;

/**
 * Returns a cron expression in words: "every 5 minutes", "every day at 07:30", "on Mondays at 08:00". Returns `undefined`
 * for the rarer shapes, for which the expression itself says more.
 */
export function cronWords(expression: string): string | undefined {
  const parts = (NICKNAMES[expression.trim().toLowerCase()] ?? expression.trim()).split(/\s+/);
  if (parts.length === 6 && parts[0] === '0') parts.shift();
  if (parts.length !== 5) return undefined;
  const [minute, hour, day, month, weekday] = parts;
  const days = month === '*' ? dayWords(day, weekday) : undefined;
  const minutes = parseField(minute?.replace(/^\*\/1$/, '*'), 0, 59);
  const hours = parseField(hour?.replace(/^\*\/1$/, '*'), 0, 23);
  if (days === undefined || minutes === undefined || hours === undefined) return undefined;
  const times = timesOfDay(minutes, hours);
  if (times !== undefined) return `${days === '' ? 'every day' : days} at ${listed(times)}`;
  const period = periodWords(minutes, hours);
  return period === undefined ? undefined : `${period} ${days}`.trim();
}

/** Returns the single times of day, if they are few. */
function timesOfDay(minutes: Field, hours: Field): readonly string[] | undefined {
  if (minutes.kind !== 'list' || hours.kind !== 'list') return undefined;
  const times = hours.values.flatMap((hour) => minutes.values.map((minute) => timeText(hour, minute)));
  return times.length <= LISTED_TIMES ? times : undefined;
}

/** Returns the period of times that repeat evenly, with the first and the last one of a day if it has such. */
function periodWords(minutes: Field, hours: Field): string | undefined {
  const minute = minutes.kind === 'list' && minutes.values.length === 1 ? minutes.values[0] : undefined;
  if (minute !== undefined) {
    if (hours.kind === 'all') return `every hour at minute ${minute}`;
    if (hours.kind === 'step') return `every ${hours.step} hours from ${timeText(0, minute)}`;
    if (hours.kind === 'list') return undefined;
    return `every hour from ${timeText(hours.first, minute)} to ${timeText(hours.last, minute)}`;
  }
  const step = minutes.kind === 'all' ? 1 : minutes.kind === 'step' ? minutes.step : undefined;
  if (step === undefined || hours.kind === 'step') return undefined;
  const period = step === 1 ? 'every minute' : `every ${step} minutes`;
  if (hours.kind === 'all') return period;
  if (hours.kind === 'list' && hours.values.length > 1) return undefined;
  const [first = 0, last = first] = hours.kind === 'range' ? [hours.first, hours.last] : hours.values;
  return `${period} from ${timeText(first, 0)} to ${timeText(last, 60 - step)}`;
}

/** Returns the days on which times are due; empty for every day, `undefined` for days that have no words. */
function dayWords(day: string | undefined, weekday: string | undefined): string | undefined {
  const days = parseField(day, 1, 31);
  const weekdays = parseField(numberedWeekdays(weekday), 0, 7);
  if (days === undefined || weekdays === undefined) return undefined;
  if (weekdays.kind === 'all') {
    if (days.kind === 'all') return '';
    if (days.kind !== 'list') return undefined;
    return `on ${days.values.length === 1 ? 'day' : 'days'} ${listed(days.values)} of the month`;
  }
  // A day of the month and a weekday are alternatives.
  if (days.kind !== 'all' || weekdays.kind === 'step') return undefined;
  if (weekdays.kind === 'range') {
    const { first, last } = weekdays;
    return last - first >= 6 ? '' : `from ${WEEKDAYS[first]} to ${WEEKDAYS[last % 7]}`;
  }
  // 0 and 7 are the same day.
  const names = new Set(weekdays.values.map((number) => `${WEEKDAYS[number % 7]}s`));
  return `on ${listed([...names])}`;
}

function numberedWeekdays(field: string | undefined): string | undefined {
  return field?.replace(/[a-z]+/gi, (name) => {
    const number = WEEKDAYS.findIndex((weekday) => weekday.slice(0, 3).toLowerCase() === name.toLowerCase());
    return number === -1 ? name : String(number);
  });
}

/** Parses a field of the common shapes. A step has to divide its hour or day evenly. */
function parseField(text: string | undefined, min: number, max: number): Field | undefined {
  if (text === undefined) return undefined;
  if (text === '*') return { kind: 'all' };
  const isValid = (value: number): boolean => value >= min && value <= max;
  const step = /^\*\/(\d{1,2})$/.exec(text)?.[1];
  if (step !== undefined) {
    const isEven = min === 0 && (max + 1) % Number(step) === 0 && Number(step) <= max;
    return isEven ? { kind: 'step', step: Number(step) } : undefined;
  }
  const [, first, last] = /^(\d{1,2})-(\d{1,2})$/.exec(text) ?? [];
  if (first !== undefined && last !== undefined) {
    const range = { kind: 'range', first: Number(first), last: Number(last) } as const;
    return isValid(range.first) && isValid(range.last) && range.first < range.last ? range : undefined;
  }
  if (!/^\d{1,2}(,\d{1,2})*$/.test(text)) return undefined;
  const values = [...new Set(text.split(',').map(Number))].sort((a, b) => a - b);
  return values.every(isValid) ? { kind: 'list', values } : undefined;
}

function timeText(hour: number, minute: number): string {
  return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}

function listed(items: readonly (string | number)[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}
