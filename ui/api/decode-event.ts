import type {
  AttemptIntrospection,
  EventBody,
  EventDetails,
  EventSettings,
  EventSummary,
  PeriodDurations,
  PublicError,
  RequestBody,
} from '../../server/dashboard/protocol.js';
import { countFields, durations, histories, recentActivity } from './decode-statistics.js';
import { step } from './decode-step.js';
import { array, boolean, type Decoder, number, object, optional, record, string } from './decoder.js';

/** Parts of the body of `GET /api/introspection?request=` that the page reads. */
export type RequestTrace = Omit<RequestBody, 'protocol'>;

const publicError = object<PublicError>({ name: string, message: string });

const summaryFields = {
  id: string,
  // A newer server may have kinds and states that this page does not know.
  kind: string as Decoder<EventSummary['kind']>,
  type: string,
  service: string,
  status: string as Decoder<EventSummary['status']>,
  requestId: string,
  causeId: optional(string),
  parentStep: optional(string),
  acceptedAt: number,
  dueAt: optional(number),
  startedAt: optional(number),
  endedAt: optional(number),
  waitMs: optional(number),
  runMs: optional(number),
  attempt: number,
  error: optional(publicError),
  step: optional(string),
  isDeadLetter: optional(boolean),
};

/** Decodes an event in a list. */
const eventSummary: Decoder<EventSummary> = object<EventSummary>(summaryFields);

const eventDetails = object<EventDetails>({
  ...summaryFields,
  attempts: array(
    object<AttemptIntrospection>({
      attempt: number,
      startedAt: number,
      endedAt: optional(number),
      error: optional(publicError),
      isInterrupted: optional(boolean),
    }),
  ),
  steps: optional(array(step)),
  omittedSteps: optional(number),
  // The dashboard never receives payloads.
  payload: () => undefined,
});

export const requestTrace: Decoder<RequestTrace> = object<RequestTrace>({
  now: number,
  requestId: string,
  events: array(eventDetails),
  isTruncated: boolean,
  missingCauses: number,
});

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
