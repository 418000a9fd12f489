import { expect, test } from 'vitest';
import type { ScheduleDescription } from './schedule-introspection.js';
import { scheduleWords } from './schedule-words.js';

test.each<[string | undefined, Pick<ScheduleDescription, 'cron' | 'timeZone' | 'everyMs'>]>([
  ['on Mondays at 08:00, Europe/Berlin', { cron: '0 8 * * 1', timeZone: 'Europe/Berlin' }],
  ['on Mondays at 08:00, UTC', { cron: '0 8 * * 1' }],
  [undefined, { cron: '0 8 L * *' }],
  ['every hour', { everyMs: 3_600_000 }],
  ['every 90 seconds', { everyMs: 90_000 }],
  [undefined, { everyMs: 1_500 }],
  ['every 5 minutes', { everyMs: 300_000 }],
])('%s: %o', (words, schedule) => {
  expect(scheduleWords(schedule)).toBe(words);
});
