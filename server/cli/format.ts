const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** Returns milliseconds in the largest unit that fits: `3.2 h`, `450 ms`. */
export function formatMs(ms: number): string {
  for (const [size, name] of units) {
    if (ms >= size) return `${Number((ms / size).toFixed(ms < 10 * size ? 1 : 0))} ${name}`;
  }
  return `${Math.round(ms)} ms`;
}

/** Returns a number with its noun: `1 event type`, `2 processes`. @param many the plural if it is not formed by an `s` */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Returns the time since a moment; `''` if there is none. */
export function formatAge(at: number | undefined, now: number): string {
  return at === undefined ? '' : `${formatMs(Math.max(0, now - at))} ago`;
}

/** Returns a moment in ISO 8601; `''` if there is none. */
export function formatTime(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString();
}

const durationUnits: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads a moment: a duration before now such as `90s`, `30m`, `2h` or `7d`, or a date. `undefined` if it is neither. */
export function parseSince(text: string, now: number): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(s|m|h|d)$/.exec(text) ?? [];
  if (amount !== undefined) return now - Number(amount) * (durationUnits[unit] ?? 0);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
