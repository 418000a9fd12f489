import type { EndedRun, Entry, LostEvent } from '../broker/entry.js';
import type { StoredCondition } from '../broker/inbox.js';
import type { EndedEvent } from '../broker/type-stats.js';
import type { AwaitedEvent, CompleteEnvelope, Envelope, Subscription } from '../delivery.js';
import type { AttemptRecord, OpenWait } from '../event-record.js';
import type { CountedDurations, CountedMinute } from '../statistics/period-history.js';
import type { FailureRecord } from '../statistics/stats.js';
import type { ScheduleRecord, StoredSchedule } from '../transport.js';
import type { Row } from './database/driver.js';
import { StoredValueError } from './sqlite-errors.js';

/**
 * Values of the file, checked. Every function throws a {@link StoredValueError} for a value that the transport does not
 * write.
 *
 * @module
 */

export function textOf(row: Row, name: string): string {
  const value = row[name];
  if (typeof value !== 'string') throw new StoredValueError(name);
  return value;
}

export function numberOf(row: Row, name: string): number {
  const value = row[name];
  if (typeof value !== 'number') throw new StoredValueError(name);
  return value;
}

export function optionalText(row: Row, name: string): string | undefined {
  return isAbsent(row[name]) ? undefined : textOf(row, name);
}

export function optionalNumber(row: Row, name: string): number | undefined {
  return isAbsent(row[name]) ? undefined : numberOf(row, name);
}

/** Parses a JSON object of a column. */
export function objectOf(row: Row, name: string): Row {
  const value = parsed(textOf(row, name), name);
  if (!isRow(value)) throw new StoredValueError(name);
  return value;
}

/** Returns the envelope of an event. */
export function envelopeOf(row: Row, type: string): Envelope {
  return new StoredEnvelope(row, type);
}

// A class for the reason that `StoredEntry` is one.
class StoredEnvelope implements CompleteEnvelope, Pick<Envelope, 'receives' | 'cancelOn' | 'overlap'> {
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly priority: number;
  readonly requestId: string;
  readonly depth: number;
  readonly delayMs: number;
  readonly replays: number;
  readonly dedupe: Envelope['dedupe'];
  readonly trace: Envelope['trace'];
  readonly key: string | undefined;
  readonly causeId: string | undefined;
  readonly parent: Envelope['parent'];
  readonly receives: Envelope['receives'];
  readonly cancelOn: Envelope['cancelOn'];
  readonly overlap: Envelope['overlap'];

  constructor(row: Row, type: string) {
    const rest = objectOf(row, 'envelope');
    const { dedupe, parent, trace } = rest;
    this.id = textOf(row, 'id');
    this.type = type;
    this.body = textOf(row, 'body');
    this.priority = numberOf(row, 'priority');
    this.requestId = textOf(rest, 'requestId');
    this.depth = numberOf(rest, 'depth');
    this.delayMs = numberOf(rest, 'delayMs');
    this.replays = numberOf(rest, 'replays');
    this.dedupe = isRow(dedupe) ? { id: textOf(dedupe, 'id'), windowMs: numberOf(dedupe, 'windowMs') } : undefined;
    this.trace = isRow(trace) ? textsOf(trace) : undefined;
    this.key = optionalText(rest, 'key');
    this.causeId = optionalText(rest, 'causeId');
    this.parent = isRow(parent)
      ? { type: textOf(parent, 'type'), id: textOf(parent, 'id'), wait: textOf(parent, 'wait') }
      : undefined;
    const { receives, cancelOn, overlap } = rest;
    this.overlap = overlap === 'skip' || overlap === 'replace' ? overlap : undefined;
    this.receives = isAbsent(receives) ? undefined : rowsOf(receives, 'receives').map(awaitedEventOf);
    this.cancelOn = isAbsent(cancelOn)
      ? undefined
      : rowsOf(cancelOn, 'cancelOn').map((reason) => ({
          ...awaitedEventOf(reason),
          ...(reason['isJudged'] === true && { isJudged: true }),
        }));
  }
}

function awaitedEventOf(event: Row): AwaitedEvent {
  const shownKey = optionalText(event, 'shownKey');
  return { type: textOf(event, 'type'), key: optionalText(event, 'key'), ...(shownKey !== undefined && { shownKey }) };
}

/** Starts of an event. */
interface StoredStarts extends Pick<Entry, 'startedAt' | 'attempts' | 'neededVersion' | 'isAdmitted'> {
  /** The last attempt ran when it was stored. */
  readonly isRunning: boolean;
}

/** Returns the start of the last attempt, the attempts before it, and the version that the next one needs. */
export function startsOf(row: Row): StoredStarts {
  if (isAbsent(row['attempts'])) {
    return { startedAt: 0, attempts: [], neededVersion: undefined, isRunning: false, isAdmitted: false };
  }
  const value = objectOf(row, 'attempts');
  return {
    startedAt: numberOf(value, 'startedAt'),
    attempts: attemptsOf(value, 'attempts'),
    neededVersion: optionalNumber(value, 'neededVersion'),
    isRunning: value['isRunning'] === true,
    isAdmitted: value['isAdmitted'] === true,
  };
}

/** Returns the recently ended events of a queue. */
export function endedEventsOf(row: Row): readonly EndedEvent[] {
  const { ended, failed } = objectOf(row, 'events');
  return [...rowsOf(ended, 'events'), ...rowsOf(failed, 'events')].map((event) => ({
    id: textOf(event, 'id'),
    requestId: textOf(event, 'requestId'),
    causeId: optionalText(event, 'causeId'),
    status: statusOf(event),
    acceptedAt: numberOf(event, 'acceptedAt'),
    startedAt: optionalNumber(event, 'startedAt'),
    endedAt: numberOf(event, 'endedAt'),
    attempt: numberOf(event, 'attempt'),
    earlier: attemptsOf(event, 'earlier'),
    error: isAbsent(event['error']) ? undefined : errorOf(event),
    step: optionalText(event, 'step'),
  }));
}

function statusOf(event: Row): EndedEvent['status'] {
  const status = textOf(event, 'status');
  if (status === 'completed' || status === 'filtered' || status === 'failed' || status === 'cancelled') return status;
  throw new StoredValueError('status');
}

function attemptsOf(value: Row, name: string): readonly AttemptRecord[] {
  return rowsOf(value[name], name).map((attempt) => {
    const endedAt = optionalNumber(attempt, 'endedAt');
    return {
      attempt: numberOf(attempt, 'attempt'),
      startedAt: numberOf(attempt, 'startedAt'),
      ...(endedAt !== undefined && { endedAt }),
      ...(!isAbsent(attempt['error']) && { error: errorOf(attempt) }),
      ...(attempt['isInterrupted'] === true && { isInterrupted: true }),
    };
  });
}

function rowsOf(value: unknown, name: string): readonly Row[] {
  if (!Array.isArray(value) || !value.every(isRow)) throw new StoredValueError(name);
  return value;
}

export function deadLetterOf(value: Row): LostEvent {
  return { at: numberOf(value, 'at'), error: errorOf(value), step: optionalText(value, 'step') };
}

export function endedRunOf(value: Row): EndedRun {
  const error = isAbsent(value['error']) ? undefined : errorOf(value);
  // Earlier versions did not store the waits.
  const waits = isAbsent(value['waits']) ? [] : rowsOf(value['waits'], 'waits').map(openWaitOf);
  return { at: numberOf(value, 'at'), result: optionalText(value, 'result'), error, waits };
}

function openWaitOf(wait: Row): OpenWait {
  const { event } = wait;
  const [dueAt, runId] = [optionalNumber(wait, 'dueAt'), optionalText(wait, 'runId')];
  const shownKey = isRow(event) ? optionalText(event, 'shownKey') : undefined;
  return {
    key: textOf(wait, 'key'),
    since: numberOf(wait, 'since'),
    ...(dueAt !== undefined && { dueAt }),
    ...(isRow(event) && {
      event: {
        type: textOf(event, 'type'),
        key: optionalText(event, 'key'),
        ...(shownKey !== undefined && { shownKey }),
      },
    }),
    ...(runId !== undefined && { runId }),
    ...(wait['isApproval'] === true && { isApproval: true }),
  };
}

export function failuresOf(row: Row): readonly FailureRecord[] {
  return rowsOf(parsed(textOf(row, 'failures'), 'failures'), 'failures').map((failure) => {
    const step = optionalText(failure, 'step');
    return {
      id: textOf(failure, 'id'),
      at: numberOf(failure, 'at'),
      attempt: numberOf(failure, 'attempt'),
      requestId: textOf(failure, 'requestId'),
      ...(step !== undefined && { step }),
      name: textOf(failure, 'name'),
      message: textOf(failure, 'message'),
    };
  });
}

/** Returns the settings of a type. */
export function subscriptionOf(row: Row): Subscription | undefined {
  if (isAbsent(row['subscription'])) return undefined;
  const value = objectOf(row, 'subscription');
  textOf(value, 'type');
  // Earlier versions stored one trigger.
  const trigger = optionalText(value, 'trigger');
  const stored = trigger === undefined ? value : { ...value, triggers: [trigger] };
  // The schema version of the file states that this package wrote the other fields.
  return stored as unknown as Subscription;
}

export function waitOf(row: Row): StoredCondition {
  const value = objectOf(row, 'wait');
  textOf(value, 'key');
  // As above.
  return value as unknown as StoredCondition;
}

export function scheduleOf(row: Row): Omit<ScheduleRecord, 'isOpen' | 'revision'> {
  const value = objectOf(row, 'record');
  return {
    service: textOf(value, 'service'),
    name: textOf(value, 'name'),
    definition: textOf(value, 'definition'),
    times: textOf(value, 'times'),
    position: numberOf(value, 'position'),
    lastDue: optionalNumber(value, 'lastDue'),
    isRemoved: value['isRemoved'] === true,
  };
}

export function storedScheduleOf(row: Row): StoredSchedule {
  return {
    id: textOf(row, 'id'),
    definition: textOf(row, 'definition'),
    position: numberOf(row, 'position'),
    lastDue: optionalNumber(row, 'last_due'),
    lookAt: optionalNumber(row, 'look_at'),
    body: textOf(row, 'body'),
  };
}

export function countedMinuteOf(row: Row): CountedMinute {
  const { counts, wait, duration, longestMs } = objectOf(row, 'counts');
  // Earlier versions did not store the longest durations.
  const [longestWait = -1, longestDuration = -1]: readonly unknown[] = Array.isArray(longestMs) ? longestMs : [];
  return {
    counts: countsOf(counts),
    waits: durationsOf(wait, longestWait),
    durations: durationsOf(duration, longestDuration),
  };
}

function durationsOf(sketch: unknown, longestMs: unknown): CountedDurations {
  if (typeof longestMs !== 'number') throw new StoredValueError('counts');
  const [first = 0, ...counts] = countsOf(sketch);
  return { buckets: counts.map((count, index) => [first + index, count]), longestMs };
}

function errorOf(value: Row): LostEvent['error'] {
  const error = value['error'];
  if (!isRow(error)) throw new StoredValueError('error');
  const code = optionalText(error, 'code');
  return { name: textOf(error, 'name'), message: textOf(error, 'message'), ...(code !== undefined && { code }) };
}

/** Returns a list of numbers. */
export function numbersOf(row: Row, name: string): readonly number[] {
  const value = parsed(textOf(row, name), name);
  if (!Array.isArray(value) || !value.every(Number.isFinite)) throw new StoredValueError(name);
  return value;
}

function countsOf(value: unknown): readonly number[] {
  if (!Array.isArray(value) || !value.every(Number.isSafeInteger)) throw new StoredValueError('counts');
  return value;
}

function textsOf(value: Row): Record<string, string> {
  return Object.fromEntries(Object.keys(value).map((name) => [name, textOf(value, name)]));
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StoredValueError(name);
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

// Not every driver reads a text beyond its first NUL character.
const [nul, mark] = ['\0', '\u0001'] as const;

/** Returns a text as the file holds it, whatever characters it has. */
export function toText(value: string): string {
  if (!value.includes(nul) && !value.includes(mark)) return value;
  return value.replaceAll(mark, `${mark}1`).replaceAll(nul, `${mark}0`);
}

/** Returns the text that {@link toText} encoded. */
export function fromText(text: string): string {
  return text.includes(mark) ? text.replaceAll(`${mark}0`, nul).replaceAll(`${mark}1`, mark) : text;
}
