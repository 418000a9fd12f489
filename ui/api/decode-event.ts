import type {
  AttemptIntrospection,
  Backlog,
  Blocker,
  ErrorGroup,
  ErrorHour,
  EventBody,
  EventDetails,
  EventSettings,
  EventSummary,
  Explanation,
  GroupedFailure,
  PeriodDurations,
  Progress,
  PublicError,
  RequestBody,
} from '../../server/dashboard/protocol.js';
import { countFields, durations, histories, recentActivity } from './decode-statistics.js';
import { step } from './decode-step.js';
import { array, boolean, type Decoder, number, object, optional, record, string } from './decoder.js';

/** Parts of the body of `GET /api/introspection?request=` that the page reads. */
export type RequestTrace = Omit<RequestBody, 'protocol' | 'explanation'> & { readonly explanation?: ShownExplanation };

/** Parts of an explanation that the page reads. */
export type ShownExplanation = Omit<Explanation, 'id' | 'service' | 'status'>;

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
  forkOf: optional(object<NonNullable<EventSummary['forkOf']>>({ runId: string, step: string })),
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
export const eventSummary: Decoder<EventSummary> = object<EventSummary>(summaryFields);

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
  progress: optional(object<Progress>({ progress: number, message: optional(string) })),
  // The dashboard never receives payloads.
  result: () => undefined,
  payload: () => undefined,
});

const eventRate = object<NonNullable<EventSettings['rate']>>({ max: number, perMs: number, perKey: optional(boolean) });

const blockerFields = {
  // A newer server may have kinds that this page does not know.
  kind: string as Decoder<Blocker['kind']>,
  child: optional(string),
  until: optional(number),
  since: optional(number),
  step: optional(string),
  eventType: optional(string),
  runId: optional(string),
  kept: optional(number),
  dropped: optional(number),
  by: optional(string),
  reason: optional(string),
  release: optional(string),
  version: optional(number),
  limit: optional((value: unknown) => (typeof value === 'number' ? value : eventRate(value))),
  limitName: optional(string),
  holders: optional(array(object<NonNullable<Blocker['holders']>[number]>({ id: string, since: optional(number) }))),
  processes: optional(
    array(
      object<NonNullable<Blocker['processes']>[number]>({ id: string, host: string, active: number, slots: number }),
    ),
  ),
};

const explanation = object<ShownExplanation>({
  type: string,
  blockers: array(object<Blocker>(blockerFields)),
  waiting: optional(number),
  expectedAt: optional(number),
});

export const requestTrace: Decoder<RequestTrace> = object<RequestTrace>({
  now: number,
  requestId: string,
  events: array(eventDetails),
  isTruncated: boolean,
  missingCauses: number,
  explanation: optional(explanation),
});

/** Decodes a group of errors. */
export const errorGroup: Decoder<ErrorGroup> = object<ErrorGroup>({
  id: string,
  eventType: optional(string),
  workflow: optional(string),
  name: string,
  message: string,
  failures: number,
  attempts: number,
  firstSeenAt: number,
  lastSeenAt: number,
  firstRelease: optional(string),
  lastRelease: optional(string),
  deadLetters: number,
  history: array(object<ErrorHour>({ at: number, failures: number, attempts: number })),
  newest: array(
    object<GroupedFailure>({
      id: string,
      requestId: string,
      at: number,
      attempt: number,
      step: optional(string),
      release: optional(string),
    }),
  ),
});

const periodDurations = object<PeriodDurations>({ last5Min: durations, lastHour: durations });

/** Body of a type, whose failures the page shows as groups. */
export type EventDetail = Omit<EventBody, 'recentFailures'>;

export const eventDetail: Decoder<EventDetail> = object<EventDetail>({
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
    rate: optional(eventRate),
    limit: optional(
      object<NonNullable<EventSettings['limit']>>({
        name: string,
        max: optional(number),
        perMs: optional(number),
        concurrency: optional(number),
      }),
    ),
    debounceMs: optional(number),
    debounceMaxMs: optional(number),
  }),
  schema: optional(record),
  recent: recentActivity,
  waitMs: periodDurations,
  durationMs: periodDurations,
  histories,
  // Absent in snapshots of older pages.
  errorGroups: optional(array(errorGroup)),
  recentEvents: optional(array(eventSummary)),
  failedEvents: optional(array(eventSummary)),
  backlog: optional(
    object<Backlog>({
      type: string,
      waiting: number,
      inPerMinute: number,
      outPerMinute: number,
      emptyAt: optional(number),
      bottlenecks: array(object<Backlog['bottlenecks'][number]>({ ...blockerFields, service: string })),
    }),
  ),
});
