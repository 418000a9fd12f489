import type { ErrorInfo } from '../../../errors.js';
import { checkName, OptionChecker } from '../../../options.js';
import type { Redactor } from '../../../redaction/redactor.js';
import { type ErasedPayloads, type EventRecord, mergeRecent } from '../../../transports/event-record.js';
import type { TransportManager } from '../../../transports/transport.js';
import { workflowOf } from '../../../transports/workflow-type.js';
import { introspectRun, type StepIntrospection } from '../../runs/run-introspection.js';
import { type DeadLetterSource, typesOf } from '../dead-letters.js';
import type { EventDetails, EventSummary, PublicError, RequestDetails } from './event-details.js';

/** Options of `hub.find`. */
export interface FindOptions {
  /** Include payloads that are still stored, and the recorded results of steps, which may be private. @default false */
  payloads?: boolean;
}

/** Newest events of a type. Result of `hub.recent`. */
export interface RecentEventSummaries {
  /** The 50 newest pending and retained events by acceptance, newest first. */
  readonly newest: readonly EventSummary[];
  /** The 50 newest failed events by the time of their failure, newest first. */
  readonly failed: readonly EventSummary[];
}

/** Finds events, runs and requests on a transport. */
export class EventSearch {
  readonly #transport: TransportManager;
  readonly #redactor: Redactor;
  readonly #stepsOf: (workflow: string) => readonly { readonly name: string }[];

  /** @param stepsOf returns the listed steps of a workflow; none if it is unknown */
  constructor(
    transport: TransportManager,
    redactor: Redactor,
    stepsOf: (workflow: string) => readonly { readonly name: string }[],
  ) {
    this.#transport = transport;
    this.#redactor = redactor;
    this.#stepsOf = stepsOf;
  }

  async find(id: string, options: FindOptions = {}): Promise<readonly EventDetails[]> {
    checkName(id, 'id of find');
    new OptionChecker(options, ['payloads'], 'find').boolean('payloads', options.payloads);
    const bodies = options.payloads === true;
    const found = await this.#transport.find(id, { bodies });
    return found.map((record) => this.#details(record, shownSteps, bodies)).sort(byAttention);
  }

  async request(requestId: string): Promise<RequestDetails> {
    checkName(requestId, 'id of request');
    const { events, isTruncated } = await this.#transport.request(requestId);
    return {
      requestId,
      events: events.map((record) => this.#details(record, shownStepsOfMany, false)),
      isTruncated,
      missingCauses: missingCauses(events),
    };
  }

  async recent(source: DeadLetterSource): Promise<RecentEventSummaries> {
    const all = await Promise.all(typesOf(source).map((type) => this.#transport.recent(type)));
    const { newest, failed } = mergeRecent(all);
    const summary = (record: EventRecord): EventSummary => this.#summary(record, this.#steps(record, false));
    return { newest: newest.map(summary), failed: failed.map(summary) };
  }

  erase(requestId: string): Promise<ErasedPayloads> {
    checkName(requestId, 'requestId of erase');
    return this.#transport.erase(requestId);
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

/** Number of steps of one run that a look-up returns, the latest ones; `hub.run` returns all. */
const shownSteps = 1_000;
const shownStepsOfMany = 100;

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

function runTime({ attempts }: EventRecord, steps: readonly StepIntrospection[] | undefined): { runMs?: number } {
  const durations =
    steps === undefined
      ? attempts.flatMap(({ startedAt, endedAt, isInterrupted }) =>
          endedAt === undefined || isInterrupted === true ? [] : endedAt - startedAt,
        )
      : steps.flatMap(({ kind, durationMs }) => (kind === 'run' ? (durationMs ?? []) : []));
  return durations.length === 0 ? {} : { runMs: durations.reduce((sum, ms) => sum + ms, 0) };
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
