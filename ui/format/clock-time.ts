const minutes = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const seconds = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' });

/** Formats hour and minute in the viewer's time zone: "14:03". */
export function formatMinute(epochMs: number): string {
  return minutes.format(epochMs);
}

/** Formats the time of day in the viewer's time zone: "14:03:12". */
export function formatTime(epochMs: number): string {
  return seconds.format(epochMs);
}

/** Formats date, time and zone in full, for titles. */
export function formatDateTime(epochMs: number): string {
  return full.format(epochMs);
}
