import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { createEvent } from '../events/event.js';
import type { Hub } from '../hub.js';
import type { ScheduleState } from '../schedule-states.js';

declare const hub: Hub;

const reportDue = createEvent({ type: 'report.due', schema: z.object({ to: z.string(), day: z.coerce.date() }) });
const polled = hub.event<{ until: string }>({ type: 'polled' });

hub.schedule({
  name: 'nightly-report',
  description: 'Report',
  cron: '0 2 * * *',
  timeZone: 'Europe/Oslo',
  emit: polled,
  payload: { until: 'now' },
  catchUp: 'all',
});
hub.schedule({
  name: 'poll',
  everyMs: 60_000,
  emit: polled,
  payload: (dueAt) => {
    expectTypeOf(dueAt).toEqualTypeOf<Date>();
    return { until: dueAt.toISOString() };
  },
});
hub.schedule({ name: 'by name', everyMs: 60_000, emit: 'polled', payload: 7 });
hub.schedule({ name: 'defined', everyMs: 60_000, emit: reportDue, payload: { to: 'ada', day: '2026-01-01' } });
hub.schedule({ name: 'run', everyMs: 60_000, start: 'fulfil', payload: {} });

// @ts-expect-error wrong payload
hub.schedule({ name: 'a', everyMs: 60_000, emit: polled, payload: { until: 7 } });
// @ts-expect-error wrong payload of the function
hub.schedule({ name: 'a', everyMs: 60_000, emit: polled, payload: () => ({ til: '' }) });
// @ts-expect-error payload is required
hub.schedule({ name: 'a', everyMs: 60_000, emit: polled });
// @ts-expect-error due times are required
hub.schedule({ name: 'a', emit: 'polled', payload: 7 });
// @ts-expect-error one kind of due times
hub.schedule({ name: 'a', everyMs: 60_000, cron: '0 2 * * *', emit: 'polled', payload: 7 });
// @ts-expect-error a time zone belongs to cron
hub.schedule({ name: 'a', everyMs: 60_000, timeZone: 'UTC', emit: 'polled', payload: 7 });
// @ts-expect-error a target is required
hub.schedule({ name: 'a', everyMs: 60_000, payload: 7 });
// @ts-expect-error one target
hub.schedule({ name: 'a', everyMs: 60_000, emit: 'polled', start: 'fulfil', payload: 7 });
// @ts-expect-error unknown catchUp
hub.schedule({ name: 'a', everyMs: 60_000, emit: 'polled', payload: 7, catchUp: 'first' });

expectTypeOf(
  hub.schedules.set({
    name: 'digest',
    key: 'ada',
    cron: '0 7 * * *',
    timeZone: 'UTC',
    emit: polled,
    payload: { until: '' },
  }),
).resolves.toBeBoolean();
void hub.schedules.set({
  name: 'a',
  everyMs: 60_000,
  emit: reportDue,
  payload: { to: 'ada', day: '' },
  endAt: new Date(),
});
void hub.schedules.set({ name: 'a', everyMs: 60_000, start: 'fulfil', payload: 7, startAt: 0, overlap: 'skip' });
// @ts-expect-error wrong payload
void hub.schedules.set({ name: 'a', everyMs: 60_000, emit: polled, payload: { until: 7 } });
// @ts-expect-error no function: it would be gone with its process
void hub.schedules.set({ name: 'a', everyMs: 60_000, emit: polled, payload: () => ({ until: '' }) });
// @ts-expect-error due times are required
void hub.schedules.set({ name: 'a', emit: 'polled', payload: 7 });
// @ts-expect-error one target
void hub.schedules.set({ name: 'a', everyMs: 60_000, emit: 'polled', start: 'fulfil', payload: 7 });
expectTypeOf(hub.schedules.get('digest', 'ada')).resolves.toEqualTypeOf<ScheduleState | undefined>();
