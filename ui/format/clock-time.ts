const minutes = lazy(
  () => new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
);
const seconds = lazy(() => new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' }));
const full = lazy(
  () => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' }),
);

/** Formats the time of day in the viewer's time zone: "14:03:12". */
export function formatTime(epochMs: number): string {
  return seconds().format(epochMs);
}

/** Formats date, time and zone in full, for titles. */
export function formatDateTime(epochMs: number): string {
  return full().format(epochMs);
}

const DAY = { weekday: 'short', day: 'numeric', month: 'short' } as const;
const MOMENT = {
  ...DAY,
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const;
const moments = lazy(() => new Intl.DateTimeFormat(undefined, MOMENT));
const farMoments = lazy(() => new Intl.DateTimeFormat(undefined, { ...MOMENT, year: 'numeric' }));

/** Formats a time: "08:00:12" if it is on the day of `now`, else "Mon, 12 Jan, 08:00", with the year if that is another one. */
export function formatMoment(epochMs: number, now: number): string {
  const [date, today] = [new Date(epochMs), new Date(now)];
  if (date.toDateString() === today.toDateString()) return formatTime(epochMs);
  return (date.getFullYear() === today.getFullYear() ? moments : farMoments)().format(epochMs);
}

/** Returns the name of the viewer's time zone: "Europe/Berlin". */
export function viewerTimeZone(): string {
  return moments().resolvedOptions().timeZone;
}

const weekdays = lazy(() => new Intl.DateTimeFormat(undefined, { weekday: 'short' }));

/** Formats a day: "Mon 12". */
function formatDay(epochMs: number): string {
  return `${weekdays().format(epochMs)} ${new Date(epochMs).getDate()}`;
}

/** Formats the time of a tick: "14:03", or "Mon 12" at midnight. */
export function formatTick(epochMs: number): string {
  const date = new Date(epochMs);
  return date.getHours() === 0 && date.getMinutes() === 0 ? formatDay(epochMs) : minutes().format(epochMs);
}

/** Formats a period: "14:03–14:04", with the day if it is not the day of `now`. */
export function formatPeriod(from: number, to: number, now: number): string {
  const isToday = new Date(from).toDateString() === new Date(now).toDateString();
  return `${isToday ? '' : `${formatDay(from)}, `}${minutes().format(from)}–${minutes().format(to)}`;
}

/** Returns a function that creates a value at its first call. The formatters of `Intl` take milliseconds to create. */
export function lazy<T>(create: () => T): () => T {
  let value: { readonly created: T } | undefined;
  return () => {
    value ??= { created: create() };
    return value.created;
  };
}
