import type { EventBody, EventSettings, PeriodDurations } from '../../../server/dashboard/protocol.js';
import { eventSummary } from './decode-request.js';
import { countFields, durations, histories, recentActivity } from './decode-statistics.js';
import { array, boolean, type Decoder, number, object, optional, record, string } from './decoder.js';

const periodDurations = object<PeriodDurations>({ last5Min: durations, lastHour: durations });

export const eventBody: Decoder<EventBody> = object<EventBody>({
  ...countFields,
  type: string,
  settings: object<EventSettings>({
    retry: optional(
      object<NonNullable<EventSettings['retry']>>({
        maxAttempts: number,
        initialDelayMs: number,
        maxDelayMs: number,
        factor: number,
        jitter: boolean,
      }),
    ),
    timeoutMs: optional(number),
    concurrency: optional(number),
    hasKey: optional(boolean),
    concurrencyPerKey: optional(number),
    rate: optional(
      object<NonNullable<EventSettings['rate']>>({ max: number, perMs: number, perKey: optional(boolean) }),
    ),
    debounceMs: optional(number),
    debounceMaxMs: optional(number),
  }),
  schema: optional(record),
  recent: recentActivity,
  waitMs: periodDurations,
  durationMs: periodDurations,
  histories,
  recentFailures: array(
    object<EventBody['recentFailures'][number]>({
      id: string,
      at: number,
      attempt: number,
      requestId: optional(string),
      step: optional(string),
      name: string,
      message: string,
    }),
  ),
  // Absent in snapshots of older pages.
  recentEvents: optional(array(eventSummary)),
  failedEvents: optional(array(eventSummary)),
});
