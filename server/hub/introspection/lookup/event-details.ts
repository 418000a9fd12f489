import type { EventStatus } from '../../../transports/event-record.js';
import type { StepIntrospection } from '../../runs/run-introspection.js';

/** Error without a stack. */
export interface PublicError {
  readonly name: string;
  readonly message: string;
}

/** Attempt at an event. */
export interface AttemptIntrospection {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; absent while the attempt runs. */
  readonly endedAt?: number;
  /** Absent if the attempt runs, succeeded or was interrupted. */
  readonly error?: PublicError;
  /**
   * The attempt ended without an outcome: its process was killed, lost its lease or stopped. After a kill and a lost
   * lease, `endedAt` is the time at which the next attempt started.
   */
  readonly isInterrupted?: boolean;
}

/** One event, or one run of a workflow, in one service. Contains no payload. */
export interface EventSummary {
  /** Id of the event or the run. */
  readonly id: string;
  readonly kind: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  /** Service that handles it. */
  readonly service: string;
  readonly status: EventStatus;
  readonly requestId: string;
  /** Id of the event or run that emitted it; absent if it came from outside. */
  readonly causeId?: string;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Epoch milliseconds at which a delayed event becomes ready. */
  readonly dueAt?: number;
  /** Start of the first attempt in epoch milliseconds; absent before. */
  readonly startedAt?: number;
  /** Epoch milliseconds; absent while it is pending. */
  readonly endedAt?: number;
  /** Milliseconds from acceptance to the first attempt. */
  readonly waitMs?: number;
  /** Sum of the durations of its attempts in milliseconds, those of retained attempts that were not interrupted; of a run those of its steps. */
  readonly runMs?: number;
  /** Number of the next, running or last attempt, from 1. */
  readonly attempt: number;
  /** Error of a failed or cancelled event. */
  readonly error?: PublicError;
  /** Step that failed, of a run. */
  readonly step?: string;
  /** It can be replayed with `hub.replay`. */
  readonly isDeadLetter?: boolean;
}

/** One event or run with its attempts and steps. Contains neither payload nor outputs, unless asked for. */
export interface EventDetails extends EventSummary {
  /** The first attempt and the latest ones, at most 10. Of runs, whose steps have attempts, only interrupted ones. */
  readonly attempts: readonly AttemptIntrospection[];
  /** Steps of a run in the order of recording: what it did and what it waits for. Absent if the type keeps no runs. */
  readonly steps?: readonly StepIntrospection[];
  /** Number of steps that were left out, the oldest ones. */
  readonly omittedSteps?: number;
  /** Payload, if it was asked for and is still stored. */
  readonly payload?: unknown;
}

/** Retained events and runs of one request. With their `causeId` they form a tree. Result of `hub.request`. */
export interface RequestDetails {
  readonly requestId: string;
  /** In the order of acceptance. */
  readonly events: readonly EventDetails[];
  /** More than 1,000 events are retained; the later ones are left out. */
  readonly isTruncated: boolean;
  /** Number of events that caused others of the request and are no longer retained, so that the tree has gaps. */
  readonly missingCauses: number;
}
