import { expect, test } from 'vitest';
import type { Schedule } from '../api/decode-introspection.js';
import { scheduleText } from './schedule-text.js';

const nightly: Schedule = { name: 'nightly', service: 'shop', processes: 1, catchUp: 'last' };

test.each<[string, Partial<Schedule>]>([
  ['on Mondays at 08:00, Europe/Berlin', { cron: '0 8 * * 1', timeZone: 'Europe/Berlin' }],
  ['on Mondays at 08:00, UTC', { cron: '0 8 * * 1' }],
  ['0 8 L * *, UTC', { cron: '0 8 L * *' }],
  ['every hour', { everyMs: 3_600_000 }],
  ['every 90 seconds', { everyMs: 90_000 }],
  ['every 1.5 s', { everyMs: 1_500 }],
  ['every 5 minutes', { everyMs: 300_000 }],
])('%s', (text, schedule) => {
  expect(scheduleText({ ...nightly, ...schedule })).toBe(text);
});
