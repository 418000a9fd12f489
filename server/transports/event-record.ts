import { type ErrorInfo, InvalidOptionError } from '../errors.js';
import type { AwaitedEvent, Envelope } from './delivery.js';
import { maxRequestEvents, retainedAttempts, retainedRecent } from './limits.js';

/**
 * Status of an event in one service. `delayed`: it waits for its `delayMs`, its debounce window or the delay of a retry.
 * `suspended`: a run that waits and holds no process. `cancelled`: it ended without success or failure. `filtered`: the
 * `when` of its handler or trigger refused it, and it counts as completed.
 */
export type EventStatus = RunStatus | 'delayed' | 'cancelled' | 'filtered';

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

/** Event that a run keeps until one of its waits takes it. */
export interface KeptEventRecord {
  readonly type: string;
  /** The run, and its service. */
  readonly runId: string;
  readonly runType: string;
  readonly service: string;
}

/** Latest events of one type, over all services. */
export interface RecentEvents {
  /** Newest pending and ended events by their acceptance, at most 50. */
  readonly newest: readonly EventRecord[];
  /** Failed events by the time of their failure, newest first, at most 50. */
  readonly failed: readonly EventRecord[];
}

/** Part of the retained runs of a type in one service. */
export interface RunPage {
  /** May have no event although there are more. */
  readonly events: readonly EventRecord[];
  /** Where the next page begins; absent if there are no more. */
  readonly after?: string;
}

/** Part of the runs to read. */
export interface RunPageQuery {
  /** Maximum number of runs. */
  readonly limit: number;
  /** `after` of the page before. */
  readonly after?: string | undefined;
}

/** Place in the pages of runs, between two of them. */
export interface RunPlace {
  /** `dead`: among the dead letters whose runs are no longer retained, which follow all runs. */
  readonly part: 'runs' | 'dead';
  /** Number of the last run before the place, as text; absent at the start of the part. */
  readonly number?: string;
  /** Id of that run, where numbers are not unique. */
  readonly id?: string;
}

const placePattern = /^(runs|dead):(?:([\d.e+]+)(?::(.*))?)?$/s;

/** Reads the place of a page, which a client of the dashboard may have written. @throws {InvalidOptionError} */
export function readRunPlace(after: string | undefined): RunPlace {
  if (after === undefined) return { part: 'runs' };
  const [, part, number, id] = placePattern.exec(after) ?? [];
  if (part !== 'runs' && part !== 'dead') throw new InvalidOptionError('after', '`after` of a page', after);
  return { part, ...(number !== undefined && { number }), ...(id !== undefined && { id }) };
}

/** Returns the place after a full page, or that of the next part; absent after the last part. */
export function nextRunPlace(part: RunPlace['part'], last: string | undefined): Pick<RunPage, 'after'> {
  if (last !== undefined) return { after: `${part}:${last}` };
  return part === 'runs' ? { after: 'dead:' } : {};
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
  /** Only those that failed at this time or earlier, in epoch milliseconds. */
  readonly until?: number | undefined;
  /** Those of this service. @default the service of the connection */
  readonly service?: string | undefined;
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
    newest: [...events].sort((a, b) => b.acceptedAt - a.acceptedAt).slice(0, retainedRecent),
    failed: failed.sort((a, b) => endOf(b) - endOf(a)).slice(0, retainedRecent),
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

/** Open wait of a run. */
export interface OpenWait {
  readonly key: string;
  /** Epoch milliseconds at which the wait was stored. */
  readonly since: number;
  /** Epoch milliseconds at which it resolves by time. */
  readonly dueAt?: number | undefined;
  readonly event?: AwaitedEvent | undefined;
  /** Id of the child run. */
  readonly runId?: string | undefined;
  /** It waits for the decision of a person. */
  readonly isApproval?: boolean | undefined;
}

/** Events that a run keeps until its waits take them. */
export interface InboxRecord {
  /** Number of events that no wait has taken. */
  readonly kept: number;
  /** Number of events that were dropped, because there were too many. */
  readonly dropped: number;
}

/** State of a run. */
export type RunStatus = 'waiting' | 'active' | 'suspended' | 'completed' | 'failed';

/** One event of a type with `retainsRuns`. */
export interface RunRecord {
  readonly id: string;
  readonly service: string;
  readonly envelope: Envelope;
  /** Time of acceptance in epoch milliseconds. */
  readonly acceptedAt: number;
  /** Number of the next, running or last attempt. */
  readonly attempt: number;
  readonly status: RunStatus;
  readonly checkpoints: ReadonlyMap<string, string>;
  /** Version of the workflow that the run needs, while no connection with it has taken the run. */
  readonly neededVersion?: number | undefined;
  /** Open waits; of an ended run the oldest of those that were open at its end, at most 100. */
  readonly waits: readonly OpenWait[];
  /** Events that a pending run keeps; absent if it keeps none from its acceptance on. */
  readonly inbox?: InboxRecord | undefined;
  /** Attempts at the run that were interrupted: the first one and the latest ones, at most 10. */
  readonly interruptions: readonly AttemptRecord[];
  /** Time of the outcome in epoch milliseconds; `undefined` while the run is pending. */
  readonly endedAt: number | undefined;
  /** Result of a completed run as JSON. */
  readonly result: string | undefined;
  /** Error of a failed run. */
  readonly error: ErrorInfo | undefined;
}

/** Sorts runs that wait: those with the oldest open approvals first. */
export function approvalsFirst(runs: readonly RunRecord[]): readonly RunRecord[] {
  const since = ({ waits }: RunRecord): number =>
    Math.min(...waits.filter(({ isApproval }) => isApproval === true).map((wait) => wait.since), Number.MAX_VALUE);
  return [...runs].sort((a, b) => since(a) - since(b));
}

/** Attempt at an event. */
export interface AttemptRecord {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; absent while the attempt runs. */
  readonly endedAt?: number;
  /** Absent if the attempt runs, succeeded or was interrupted. */
  readonly error?: ErrorInfo;
  /**
   * The attempt ended without an outcome: its process was killed, lost its lease or stopped. After a kill and a lost
   * lease, `endedAt` is the time at which the next attempt started.
   */
  readonly isInterrupted?: boolean;
}

/** Error that stands for an interruption in records that earlier versions read. */
export const interruptedError: ErrorInfo = { name: 'InterruptedError', message: 'interrupted' };

/** Adds an attempt, and drops the oldest one after the first if there are too many. */
export function keepAttempt(attempts: readonly AttemptRecord[], attempt: AttemptRecord): readonly AttemptRecord[] {
  const all = [...attempts, attempt];
  return all.length > retainedAttempts ? [...all.slice(0, 1), ...all.slice(2)] : all;
}
