import type { ErrorInfo } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowOf } from '../../transports/delivery.js';
import { type ErasedPayloads, type EventRecord, type EventStatus, mergeRecent } from '../../transports/event-record.js';
import type { EventLookup } from '../../transports/transport.js';
import { isAttemptedKind, parseEntryKey } from '../runs/run-entry.js';
import { introspectRun, type StepIntrospection } from '../runs/run-introspection.js';
import { type DeadLetterSource, typesOf } from './dead-letters.js';

/** Options of `hub.find`. */
export interface FindOptions {
  /** Include payloads that are still stored, and the recorded results of steps, which may be private. @default false */
  payloads?: boolean;
}

/** Newest events of a type. Result of `hub.getRecent`. */
export interface RecentEventSummaries {
  /** The 50 newest pending and retained events by acceptance, newest first. */
  readonly newest: readonly EventSummary[];
  /** The 50 newest failed events by the time of their failure, newest first. */
  readonly failed: readonly EventSummary[];
}

/** Finds events, runs and requests on a transport. */
export class EventSearch {
  readonly #lookup: EventLookup;
  readonly #redactor: Redactor;
  readonly #stepsOf: (workflow: string) => readonly { readonly name: string }[];

  /** @param stepsOf returns the listed steps of a workflow; none if it is unknown */
  constructor(
    lookup: EventLookup,
    redactor: Redactor,
    stepsOf: (workflow: string) => readonly { readonly name: string }[],
  ) {
    this.#lookup = lookup;
    this.#redactor = redactor;
    this.#stepsOf = stepsOf;
  }

  async find(id: string, options: FindOptions = {}): Promise<readonly EventDetails[]> {
    checkName(id, 'id of find');
    new OptionChecker(options, ['payloads'], 'find').boolean('payloads', options.payloads);
    const bodies = options.payloads === true;
    const found = await this.#lookup.find(id, { bodies });
    return found.map((record) => this.#details(record, shownSteps, bodies)).sort(byAttention);
  }

  async request(requestId: string): Promise<RequestDetails> {
    checkName(requestId, 'id of getRequest');
    const { events, isTruncated } = await this.#lookup.request(requestId);
    const runs = events.filter(({ run }) => run !== undefined).length;
    const maxSteps = Math.max(shownStepsOfMany, Math.floor(shownSteps / Math.max(1, runs)));
    return {
      requestId,
      events: events.map((record) => this.#details(record, maxSteps, false)),
      isTruncated,
      missingCauses: missingCauses(events),
    };
  }

  async recent(source: DeadLetterSource): Promise<RecentEventSummaries> {
    const all = await Promise.all(typesOf(source).map((type) => this.#lookup.recent(type)));
    const { newest, failed } = mergeRecent(all);
    const summary = (record: EventRecord): EventSummary => this.#summary(record, this.#steps(record, false));
    return { newest: newest.map(summary), failed: failed.map(summary) };
  }

  erase(requestId: string): Promise<ErasedPayloads> {
    checkName(requestId, 'requestId of erase');
    return this.#lookup.erase(requestId);
  }

  #details(record: EventRecord, maxSteps: number, withPayload: boolean): EventDetails {
    const steps = this.#steps(record, withPayload);
    const omitted = Math.max(0, (steps?.length ?? 0) - maxSteps);
    return {
      ...this.#summary(record, steps),
      attempts: record.attempts.map(({ error, ...attempt }) => ({
        ...attempt,
        ...(error !== undefined && { error: this.#publicError(error) }),
      })),
      ...(steps !== undefined && { steps: steps.slice(omitted) }),
      ...(omitted > 0 && { omittedSteps: omitted }),
      ...(withPayload && record.body !== undefined && { payload: parseOrUndefined(record.body) }),
    };
  }

  #steps({ type, run }: EventRecord, outputs: boolean): readonly StepIntrospection[] | undefined {
    if (run === undefined) return undefined;
    return introspectRun(this.#stepsOf(workflowOf(type) ?? ''), run, this.#redactor, { outputs }).steps;
  }

  #summary(record: EventRecord, steps: readonly StepIntrospection[] | undefined): EventSummary {
    const { id, type, service, requestId, causeId, acceptedAt, dueAt, endedAt, attempt, error, isDeadLetter } = record;
    const workflow = workflowOf(type);
    const startedAt = firstStart(record, steps);
    const step = record.step ?? steps?.findLast(({ status }) => status === 'failed')?.name;
    return {
      id,
      kind: workflow === undefined ? 'event' : 'workflow',
      type: workflow ?? type,
      service,
      status: record.status === 'failed' && isCancellation(error) ? 'cancelled' : record.status,
      requestId,
      ...(causeId !== undefined && { causeId }),
      ...parentStepOf(record),
      acceptedAt,
      ...(dueAt !== undefined && { dueAt }),
      ...(startedAt !== undefined && { startedAt, waitMs: Math.max(0, startedAt - acceptedAt) }),
      ...(endedAt !== undefined && { endedAt }),
      ...runTime(record, steps),
      attempt,
      ...(error !== undefined && { error: this.#publicError(error) }),
      ...(step !== undefined && record.status === 'failed' && { step }),
      ...(isDeadLetter && { isDeadLetter }),
    };
  }

  #publicError(error: ErrorInfo): PublicError {
    const { name, message } = this.#redactor.recorded(error);
    return { name, message };
  }
}

/** Number of steps that a lookup returns, the latest ones of each run; `hub.getRun` returns all. */
const shownSteps = 1_000;
/** Number of steps per run that a lookup of many runs returns in any case. */
const shownStepsOfMany = 100;

/** Returns the step of the parent run that waits for a child run. */
function parentStepOf({ run }: EventRecord): { parentStep?: string } {
  const parent = run?.envelope.parent;
  return parent === undefined ? {} : { parentStep: parseEntryKey(parent.wait).id };
}

// The record of a run does not tell them from failures.
function isCancellation(error: ErrorInfo | undefined): boolean {
  return error?.code === 'ERR_CANCELLED' || error?.code === 'ERR_WORKFLOW_CANCELLED';
}

/** Failed shares first. */
function byAttention(a: EventSummary, b: EventSummary): number {
  return Number(b.status === 'failed') - Number(a.status === 'failed') || (a.service < b.service ? -1 : 1);
}

/** Returns the start of the first attempt since the event was accepted or replayed. */
function firstStart(record: EventRecord, steps: readonly StepIntrospection[] | undefined): number | undefined {
  const { acceptedAt, attempts, run } = record;
  // A replayed run keeps the steps of its earlier attempts.
  const isReplayed = run !== undefined && run.envelope.replays > 0;
  const all = (steps ?? attempts).flatMap(({ startedAt }) => startedAt ?? []);
  const starts = isReplayed ? all.filter((at) => at >= acceptedAt) : all;
  return starts.length === 0 ? undefined : Math.min(...starts);
}

/** Returns the time in which an attempt or a step ran. Steps that ran at the same time count once. */
function runTime({ attempts }: EventRecord, steps: readonly StepIntrospection[] | undefined): { runMs?: number } {
  const periods =
    steps === undefined
      ? attempts.flatMap(({ startedAt, endedAt, isInterrupted }) =>
          endedAt === undefined || isInterrupted === true ? [] : { from: startedAt, to: endedAt },
        )
      : steps.flatMap(({ kind, endedAt, durationMs }) =>
          isAttemptedKind(kind) && endedAt !== undefined && durationMs !== undefined
            ? { from: endedAt - durationMs, to: endedAt }
            : [],
        );
  if (periods.length === 0) return {};
  let runMs = 0;
  let end = Number.NEGATIVE_INFINITY;
  for (const { from, to } of periods.sort((a, b) => a.from - b.from)) {
    runMs += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return { runMs };
}

/** Returns `undefined` for a payload that was changed in the store. */
function parseOrUndefined(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Returns the number of causes that are not among the events. */
function missingCauses(events: readonly EventRecord[]): number {
  const known = new Set(events.map(({ id }) => id));
  return new Set(events.flatMap(({ causeId }) => (causeId === undefined || known.has(causeId) ? [] : causeId))).size;
}

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
  /** Step of the run `causeId` that started this run by `step.invoke`; absent for other runs and for events. */
  readonly parentStep?: string;
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
  /**
   * Milliseconds in which its attempts ran, those of retained attempts that were not interrupted; of a run those in which
   * at least one of its steps ran.
   */
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

/** Retained events and runs of one request. With their `causeId` they form a tree. Result of `hub.getRequest`. */
export interface RequestDetails {
  readonly requestId: string;
  /** In the order of acceptance. */
  readonly events: readonly EventDetails[];
  /** More than 1,000 events are retained; the later ones are left out. */
  readonly isTruncated: boolean;
  /** Number of events that caused others of the request and are no longer retained, so that the tree has gaps. */
  readonly missingCauses: number;
}
