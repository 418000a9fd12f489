import type { ErrorInfo } from '../../errors.js';
import { checkName, OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import type { BoundedLog } from '../../transports/bounded-log.js';
import { CodecError, CodecMismatchError } from '../../transports/codec.js';
import { workflowOf } from '../../transports/delivery.js';
import { type EventRecord, type EventStatus, mergeRecent } from '../../transports/event-record.js';
import type { EventLookup, TransportManager } from '../../transports/transport.js';
import { isCancellation } from '../errors.js';
import { type Progress, readProgress } from '../events/live-output.js';
import { type ForkOrigin, forkOrigin } from '../runs/fork.js';
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
  readonly #log: BoundedLog;
  readonly #redactor: Redactor;
  readonly #stepsOf: (workflow: string) => readonly { readonly name: string }[];

  /** @param stepsOf returns the listed steps of a workflow; none if it is unknown */
  constructor(
    { lookup, log }: Pick<TransportManager, 'lookup' | 'log'>,
    redactor: Redactor,
    stepsOf: (workflow: string) => readonly { readonly name: string }[],
  ) {
    this.#lookup = lookup;
    this.#log = log;
    this.#redactor = redactor;
    this.#stepsOf = stepsOf;
  }

  async find(id: string, options: FindOptions = {}): Promise<readonly EventDetails[]> {
    checkName(id, 'id of find');
    new OptionChecker(options, ['payloads'], 'find').boolean('payloads', options.payloads);
    const bodies = options.payloads === true;
    const found = await this.#lookup.find(id, { bodies });
    const events = found.map((record) => this.#details(record, shownSteps, bodies)).sort(byAttention);
    return this.#withProgress(events);
  }

  async request(requestId: string): Promise<RequestDetails> {
    checkName(requestId, 'id of getRequest');
    const { events, isTruncated } = await this.#lookup.request(requestId);
    const runs = events.filter(({ run }) => run !== undefined).length;
    const maxSteps = Math.max(shownStepsOfMany, Math.floor(shownSteps / Math.max(1, runs)));
    return {
      requestId,
      events: await this.#withProgress(events.map((record) => this.#details(record, maxSteps, false))),
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

  /** Returns what is shown of a record, and the errors of its attempts and steps. */
  summarize(record: EventRecord): { readonly summary: EventSummary; readonly errors: readonly PublicError[] } {
    const steps = this.#steps(record, false);
    const own = [record, ...record.attempts].flatMap(({ error }) =>
      error === undefined ? [] : this.#publicError(error),
    );
    const errors = [...own, ...(steps ?? []).flatMap(({ error }) => error ?? [])];
    return { summary: this.#summary(record, steps), errors };
  }

  /** Adds the last published progress of pending events and runs, except what cannot be decoded. */
  async #withProgress(events: readonly EventDetails[]): Promise<EventDetails[]> {
    const pending = new Set(events.filter(({ endedAt }) => endedAt === undefined).slice(0, shownProgress));
    const add = async (event: EventDetails): Promise<EventDetails> => {
      const found = pending.has(event) ? await this.#progress(event) : undefined;
      if (found === undefined) return event;
      const { progress, message } = found;
      if (message === undefined) return { ...event, progress: { progress } };
      return { ...event, progress: { progress, message: this.#publicError({ name: 'Progress', message }).message } };
    };
    return Promise.all(events.map(add));
  }

  async #progress({ service, id }: EventDetails): Promise<Progress | undefined> {
    try {
      return await readProgress(this.#log, service, id);
    } catch (error) {
      if (error instanceof CodecError || error instanceof CodecMismatchError) return undefined;
      throw error;
    }
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
      ...(withPayload && record.run?.result !== undefined && { result: parseOrUndefined(record.run.result) }),
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
      ...forkOf(record),
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

/** Number of pending events of which a lookup reads the progress. */
const shownProgress = 20;
/** Number of steps that a lookup returns, the latest ones of each run; `hub.getRun` returns all. */
const shownSteps = 1_000;
/** Number of steps per run that a lookup of many runs returns in any case. */
const shownStepsOfMany = 100;

/** Returns the step of the parent run that waits for a child run. */
function parentStepOf({ run }: EventRecord): { parentStep?: string } {
  const parent = run?.envelope.parent;
  return parent === undefined ? {} : { parentStep: parseEntryKey(parent.wait).id };
}

function forkOf({ run }: EventRecord): { forkOf?: ForkOrigin } {
  const origin = run && forkOrigin(run.checkpoints);
  return origin === undefined ? {} : { forkOf: origin };
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
  /** Run that it is a fork of, and the step from which it ran again. */
  readonly forkOf?: ForkOrigin;
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
  /** Last progress that it published, while it is pending; of at most 20 events of a lookup. */
  readonly progress?: Progress;
  /** Payload, if it was asked for and is still stored. */
  readonly payload?: unknown;
  /** Result of a run, if it was asked for and is still stored. */
  readonly result?: unknown;
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
