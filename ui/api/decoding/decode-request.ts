import type {
  AttemptIntrospection,
  EventDetails,
  EventSummary,
  PublicError,
  RequestBody,
} from '../../../server/dashboard/protocol.js';
import { step } from './decode-step.js';
import { array, boolean, type Decoder, number, object, optional, string } from './decoder.js';

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
