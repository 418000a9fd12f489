import type { ErrorInfo } from '../errors.js';
import type { AttemptRecord } from './attempt-record.js';
import { keptRecent, maxRequestEvents } from './limits.js';
import type { RunRecord, RunStatus } from './run-record.js';

/**
 * Status of an event in one service. `delayed`: it waits for its `delayMs`, its debounce window or the delay of a retry.
 * `suspended`: a run that waits and holds no process. `cancelled`: it ended without success or failure.
 */
export type EventStatus = RunStatus | 'delayed' | 'cancelled';

/** One service's share of an event, pending or recently ended, without the payload unless it was asked for. */
export interface EventRecord {
  readonly id: string;
  readonly type: string;
  readonly service: string;
  readonly requestId: string;
  readonly causeId: string | undefined;
  readonly status: EventStatus;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Epoch milliseconds at which a delayed event becomes ready. */
  readonly dueAt: number | undefined;
  /** Epoch milliseconds; `undefined` while the event is pending. */
  readonly endedAt: number | undefined;
  /** Number of the next, running or last attempt, from 1. */
  readonly attempt: number;
  /** The first attempt and the latest ones, at most 10. Of runs, whose steps have attempts, only interrupted ones. */
  readonly attempts: readonly AttemptRecord[];
  /** Error of a failed or cancelled event. */
  readonly error: ErrorInfo | undefined;
  /** Step of a run that failed. */
  readonly step: string | undefined;
  /** The event can be replayed. */
  readonly isDeadLetter: boolean;
  /** Payload as JSON, if it was asked for and is still stored. */
  readonly body: string | undefined;
  /** Record of the run if the type keeps runs and it is retained. */
  readonly run: RunRecord | undefined;
}

/** Latest events of one type, over all services. */
export interface RecentEvents {
  /** Newest pending and ended events by their acceptance, at most 50. */
  readonly newest: readonly EventRecord[];
  /** Failed events by the time of their failure, newest first, at most 50. */
  readonly failed: readonly EventRecord[];
}

/** Retained events of one request, over all types and services. */
export interface RequestRecords {
  /** In the order of acceptance. */
  readonly events: readonly EventRecord[];
  /** More events are retained than the limit allows. */
  readonly isTruncated: boolean;
}

/** Restriction of a list of dead letters. */
export interface DeadLetterFilter {
  /** Only those of this request. */
  readonly requestId?: string | undefined;
  /** Only those that failed at this time or later, in epoch milliseconds. */
  readonly since?: number | undefined;
}

/** Result of an erasure. */
export interface ErasedPayloads {
  /** Dead letters that were removed. They can no longer be replayed. */
  readonly deadLetters: number;
  /** Ended runs whose input, result and steps were removed. */
  readonly runs: number;
  /** Events that are still pending and keep their payload, because they have yet to be handled. */
  readonly pending: number;
}

/** Returns the record of a run as that of an event. */
export function eventOfRun(type: string, run: RunRecord, isDeadLetter: boolean): EventRecord {
  const { id, service, envelope, acceptedAt, attempt, status, endedAt, error, interruptions } = run;
  const { requestId, causeId } = envelope;
  return {
    id,
    type,
    service,
    requestId,
    causeId,
    status,
    acceptedAt,
    dueAt: undefined,
    endedAt,
    attempt,
    attempts: interruptions,
    error,
    step: undefined,
    isDeadLetter,
    body: undefined,
    run,
  };
}

/** Returns the newest of some events by acceptance, and the newest failed ones. */
export function toRecentEvents(events: readonly EventRecord[]): RecentEvents {
  const endOf = ({ endedAt, acceptedAt }: EventRecord): number => endedAt ?? acceptedAt;
  const failed = events.filter(({ status }) => status === 'failed');
  return {
    newest: [...events].sort((a, b) => b.acceptedAt - a.acceptedAt).slice(0, keptRecent),
    failed: failed.sort((a, b) => endOf(b) - endOf(a)).slice(0, keptRecent),
  };
}

/** Returns the newest of several lists. */
export function mergeRecent(all: readonly RecentEvents[]): RecentEvents {
  const { newest } = toRecentEvents(all.flatMap((recent) => recent.newest));
  const { failed } = toRecentEvents(all.flatMap((recent) => recent.failed));
  return { newest, failed };
}

/** Returns the first events of a request in the order of acceptance. */
export function toRequestRecords(events: readonly EventRecord[]): RequestRecords {
  const ordered = [...events].sort((a, b) => a.acceptedAt - b.acceptedAt);
  return { events: ordered.slice(0, maxRequestEvents), isTruncated: ordered.length > maxRequestEvents };
}
