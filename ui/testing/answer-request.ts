import type { EventDetails, EventSummary, RequestBody } from '../../server/dashboard/protocol.js';

/** Id of the request of {@link requestAnswer}. */
export const REQUEST_ID = '4be0643f-1d98-473b-97cd-ca98a6534710';

/** Returns an event that a service of the hub has accepted. */
function accepted(id: string, type: string, acceptedAt: number, rest: Partial<EventDetails> = {}): EventDetails {
  return {
    id,
    kind: 'event',
    type,
    service: 'shop',
    status: 'completed',
    requestId: REQUEST_ID,
    acceptedAt,
    attempt: 1,
    attempts: [],
    ...rest,
  };
}

/** Returns the body of a request that failed in a payment, while the parcel of its order waits. */
export function requestAnswer(now: number): RequestBody {
  const start = now - 95_000;
  const payment = '8a1c99e2-0b4d-4f7e-9a64-0c2f5b9d1e01';
  const run = 'c07d52ab-6a0e-4a35-8d53-6d1f0a7be902';
  const error = { name: 'FatalError', message: 'card declined: order 1048 of 9920' };
  const attempt = (number: number, startedAt: number, endedAt: number, failure?: EventDetails['error']) => ({
    attempt: number,
    startedAt,
    endedAt,
    ...(failure && { error: failure }),
  });
  return {
    protocol: 2,
    now,
    requestId: REQUEST_ID,
    isTruncated: false,
    missingCauses: 0,
    events: [
      accepted(REQUEST_ID, 'order.created', start, {
        startedAt: start + 400,
        endedAt: start + 2_900,
        waitMs: 400,
        runMs: 2_500,
        attempts: [attempt(1, start + 400, start + 2_900)],
      }),
      accepted(payment, 'payment.requested', start + 2_900, {
        causeId: REQUEST_ID,
        status: 'failed',
        startedAt: start + 3_400,
        endedAt: start + 31_000,
        waitMs: 500,
        runMs: 9_100,
        attempt: 3,
        isDeadLetter: true,
        error,
        attempts: [
          attempt(1, start + 3_400, start + 6_400, { name: 'TimeoutError', message: 'no response within 3000 ms' }),
          attempt(2, start + 11_000, start + 14_000, { name: 'TimeoutError', message: 'no response within 3000 ms' }),
          attempt(3, start + 27_900, start + 31_000, error),
        ],
      }),
      accepted('2f60c1d7-93f4-4d3f-8a5e-5b7d8a0c6b03', 'order.failed', start + 31_000, {
        causeId: payment,
        startedAt: start + 31_100,
        endedAt: start + 32_000,
        waitMs: 100,
        runMs: 900,
        attempts: [attempt(1, start + 31_100, start + 32_000)],
      }),
      accepted(run, 'fulfil', start + 2_900, {
        kind: 'workflow',
        causeId: REQUEST_ID,
        status: 'suspended',
        startedAt: start + 3_000,
        waitMs: 100,
        runMs: 22_000,
        steps: [
          {
            name: 'pick',
            kind: 'run',
            status: 'completed',
            attempt: 1,
            startedAt: start + 3_000,
            endedAt: start + 15_000,
            durationMs: 12_000,
          },
          {
            name: 'cool down',
            kind: 'sleep',
            status: 'completed',
            startedAt: start + 15_000,
            endedAt: start + 45_000,
            durationMs: 30_000,
          },
          {
            name: 'pack',
            kind: 'run',
            status: 'completed',
            attempt: 2,
            startedAt: start + 45_000,
            endedAt: start + 62_000,
            durationMs: 10_000,
          },
          {
            name: 'parcel scanned',
            kind: 'event',
            status: 'waiting',
            startedAt: start + 62_000,
            waitsFor: { since: start + 62_000, event: { type: 'parcel.scanned' } },
          },
        ],
      }),
    ],
  };
}

/** Returns summaries of the newest events of a type. */
export function recentAnswer(type: string, now: number, count: number): readonly EventSummary[] {
  return Array.from({ length: count }, (_, index): EventSummary => {
    const isFailed = index % 5 === 0;
    const acceptedAt = now - 2_600 - index * 7_300;
    return {
      id: `${(0x4be0643f + index * 7_919).toString(16)}-1d98-473b-97cd-ca98a6534710`,
      kind: 'event',
      type,
      service: 'shop',
      status: isFailed ? 'failed' : 'completed',
      requestId: REQUEST_ID,
      ...(index % 2 === 0 && { causeId: REQUEST_ID }),
      acceptedAt,
      startedAt: acceptedAt + 18,
      endedAt: acceptedAt + 430,
      waitMs: 18,
      runMs: 412,
      attempt: isFailed ? 4 : 1,
      ...(isFailed && { error: { name: 'FatalError', message: 'card declined' }, isDeadLetter: true }),
    };
  });
}
