import { expect, test } from 'vitest';
import type { Schedule } from '../api/decoding/decode-introspection.js';
import { scheduleText } from './schedule-text.js';

const nightly: Schedule = { name: 'nightly', service: 'shop', processes: 1, catchUp: 'last' };

test.each<[string, Partial<Schedule>]>([
  ['0 8 * * 1 in Europe/Berlin', { cron: '0 8 * * 1', timeZone: 'Europe/Berlin' }],
  ['0 8 * * 1 in UTC', { cron: '0 8 * * 1' }],
  ['every 5 min', { everyMs: 300_000 }],
])('%s', (text, schedule) => {
  expect(scheduleText({ ...nightly, ...schedule })).toBe(text);
});
