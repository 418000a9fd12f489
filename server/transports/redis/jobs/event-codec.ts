import type { ErrorInfo } from '../../../errors.js';
import { type AwaitedEvent, type CompleteEnvelope, delayOf, type Envelope, type Outcome } from '../../delivery.js';
import { replacedInfo, UnexpectedDataError } from '../../errors.js';
import type { AttemptRecord } from '../../event-record.js';
import { durationBucket } from '../../statistics/durations.js';
import { readArray, readNumber } from '../connection/reply.js';
import type { ScriptArgument } from '../connection/script.js';
import { checkedMs } from '../connection/script-limits.js';
import { encodeName, eventIdOf, jobIdOf, serviceTypeOf } from '../names.js';

// BullMQ starts the lowest number first, from 1. Hubline starts the highest first, from 100 to -100.
const lowestPriority = 101;

/** Fields that are arguments or parts of the JSON's start. All others are links, which the JSON has only if they are given. */
type WrittenFields =
  | keyof Pick<Envelope, 'id' | 'type' | 'requestId' | 'delayMs' | 'priority' | 'trace' | 'body'>
  | keyof Pick<Envelope, 'depth' | 'replays' | 'dedupe'>;

/** Reply of a script that accepted an event that nobody receives. */
export const unsubscribedReply = '-';

/**
 * Returns an envelope as the arguments that `takeEnvelope` reads. Its JSON has no end: the scripts append the links to
 * other events, depth and replays.
 */
export function envelopeArguments(envelope: Envelope, sender: string): ScriptArgument[] {
  const { id, type, body, requestId, depth, delayMs, priority, trace, key, causeId, parent } = envelope;
  const linked: Omit<CompleteEnvelope, WrittenFields> = { key, causeId, parent };
  const links = JSON.stringify(linked);
  return [
    jobIdOf(id),
    encodeName(type),
    serviceTypeOf(sender, type),
    keyArgument(key),
    links === '{}' ? '' : `,${links.slice(1, -1)}`,
    parent === undefined
      ? ''
      : JSON.stringify([serviceTypeOf(sender, parent.type), jobIdOf(parent.id), encodeName(parent.wait)]),
    // The request comes first, for `requestIdOf`. The body comes last: `queueJob` cuts it off for readers that do not
    // need it.
    JSON.stringify({ requestId, delayMs, priority, trace, body }).slice(0, -1),
    depth,
    lowestPriority - priority,
    checkedMs(delayMs, 'delayMs'),
  ];
}

/** Returns an envelope, its deduplication, its service and what else its acceptance reads as the arguments that `takeEmit` reads. */
export function emitArguments(envelope: Envelope, sender: string): ScriptArgument[] {
  const { dedupe, service, type, overlap = '' } = envelope;
  const replaced = overlap === 'replace' ? JSON.stringify(replacedInfo(type)) : overlap;
  const window = dedupe === undefined ? ['', 0] : [encodeName(dedupe.id), checkedMs(dedupe.windowMs, 'dedupeWindowMs')];
  const addressee = service === undefined ? '' : serviceTypeOf(service, type);
  const recorded = envelope.recorded?.map(([key, value]) => [key, ...splitCheckpoint(value)]);
  const rest = [receivesArgument(envelope), replaced, recorded === undefined ? '' : JSON.stringify(recorded)];
  return [...envelopeArguments(envelope, sender), ...window, addressee, ...rest];
}

// The rest of a value is a step's output, which may be large and which observers do not read.
const outputKey = ',"output":';
/** End of a checkpoint without its output. */
export const withoutOutput = 'null}';

/** Divides a checkpoint into what observers read, and the output of its step; `''` if it has none. */
export function splitCheckpoint(value: string): readonly [shown: string, output: string] {
  const end = value.indexOf(outputKey);
  if (end === -1) return [value, ''];
  const from = end + outputKey.length;
  return [value.slice(0, from) + withoutOutput, value.slice(from)];
}

/**
 * Returns the events that a run receives, or that cancel it, from its acceptance on, as `keepEvents` reads them; `''` if
 * there are none.
 */
export function receivesArgument({ receives = [], cancelOn = [] }: Envelope): string {
  const placeOf = ({ type, key }: AwaitedEvent): string[] => [encodeName(type), keyArgument(key)];
  const reasons = cancelOn.map((reason) => [...placeOf(reason), reason.isJudged === true ? 'judged' : 'cancel']);
  const events = [...receives.map(placeOf), ...reasons];
  return events.length === 0 ? '' : JSON.stringify(events);
}

/** Returns the key of an event as a part of Redis keys; `''` if it has none. The empty key differs from it. */
export function keyArgument(key: string | undefined): string {
  return key === undefined ? '' : `=${encodeName(key)}`;
}

/** Returns the envelope that a job carries. @throws {UnexpectedDataError} if it carries none */
export function decodeEnvelope(jobId: string, type: string, data: unknown): Envelope {
  const fields = Object(data) as Partial<Record<keyof Envelope, unknown>>;
  const { requestId, body, depth, replays, delayMs, priority } = fields;
  if (
    typeof requestId !== 'string' ||
    typeof body !== 'string' ||
    typeof depth !== 'number' ||
    typeof replays !== 'number' ||
    typeof delayMs !== 'number' ||
    typeof priority !== 'number'
  ) {
    throw new UnexpectedDataError(`job ${JSON.stringify(jobId)} carries no event`);
  }
  const envelope: CompleteEnvelope = {
    ...{ id: eventIdOf(jobId), type, body, requestId, depth, delayMs, priority, replays, dedupe: undefined },
    trace: readTrace(fields.trace),
    key: readText(fields.key),
    causeId: readText(fields.causeId),
    parent: readParent(fields.parent),
  };
  return envelope;
}

function readText(text: unknown): string | undefined {
  return typeof text === 'string' ? text : undefined;
}

function readParent(parent: unknown): Envelope['parent'] {
  const { type, id, wait } = Object(parent) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof id !== 'string' || typeof wait !== 'string') return undefined;
  return { type, id, wait };
}

/** Envelope of a job, and the error if the job's data was changed in Redis and carries no event. */
export interface DecodedEnvelope {
  readonly envelope: Envelope;
  readonly refusal: UnexpectedDataError | undefined;
}

/**
 * Returns the envelope that a job carries. For data that carries none, returns an envelope without a payload and the
 * error: one changed job must neither be delivered for ever nor hide the jobs beside it.
 */
export function decodeAnyEnvelope(jobId: string, type: string, data: unknown): DecodedEnvelope {
  try {
    const parsed: unknown = typeof data === 'string' ? JSON.parse(data) : data;
    return { envelope: decodeEnvelope(jobId, type, parsed), refusal: undefined };
  } catch {
    const id = eventIdOf(jobId);
    const settings = { depth: 0, delayMs: 0, priority: 0, replays: 0, dedupe: undefined, trace: undefined };
    return {
      envelope: { id, type, body: 'null', requestId: id, ...settings },
      refusal: new UnexpectedDataError(`job ${JSON.stringify(jobId)} carries no event`),
    };
  }
}

/** Ignores a trace that it cannot read: no behaviour depends on it. */
function readTrace(trace: unknown): Envelope['trace'] {
  if (typeof trace !== 'object' || trace === null) return undefined;
  const entries = Object.entries(trace);
  return entries.every(([, value]) => typeof value === 'string') ? Object.fromEntries(entries) : undefined;
}

/**
 * Returns an outcome as the arguments that `takeOutcome` reads.
 *
 * @param event saves the script from reading the data of the job. Its delay is not part of the time that it waits
 */
export function outcomeArguments(
  outcome: Outcome,
  attempt: number,
  sender: string,
  event?: Pick<Envelope, 'requestId' | 'causeId' | 'delayMs' | 'replays'>,
): ScriptArgument[] {
  const { status, durationMs } = outcome;
  const head: ScriptArgument[] = [
    status,
    attempt,
    durationBucket(durationMs),
    durationMs,
    event === undefined ? 0 : delayOf(event),
  ];
  if (outcome.status === 'retry') {
    return [...head, checkedMs(outcome.delayMs, 'delayMs of a retry'), JSON.stringify(outcome.error)];
  }
  if (outcome.status === 'released') {
    return [...head, checkedMs(outcome.delayMs, 'delayMs of a release'), outcome.version ?? 0];
  }
  if (outcome.status === 'suspended') return [...head, outcome.seen];
  if (outcome.status === 'failed' && outcome.cancelled === true) head[0] = 'cancelled';
  if (outcome.status === 'completed' && outcome.filtered === true) head[0] = 'filtered';
  const value = outcome.status === 'completed' ? (outcome.result ?? '') : JSON.stringify(outcome.error);
  const step = outcome.status === 'failed' ? [outcome.step ?? ''] : [];
  const { followUps } = outcome;
  return [
    ...head,
    value,
    event === undefined ? '' : JSON.stringify(event.requestId),
    event?.causeId === undefined ? '' : JSON.stringify(event.causeId),
    ...step,
    followUps.length,
    ...followUps.flatMap((envelope) => emitArguments(envelope, sender)),
  ];
}

/** Returns the error that {@link outcomeArguments} encoded. */
export function decodeError(json: string): ErrorInfo {
  const { name, message, code } = Object(JSON.parse(json)) as Partial<Record<keyof ErrorInfo, unknown>>;
  return { name: String(name), message: String(message), ...(typeof code === 'string' && { code }) };
}

/** Returns the attempts that scripts retained as lines. */
export function readAttempts(lines: string): readonly AttemptRecord[] {
  return lines.split('\n').flatMap((line) => (line === '' ? [] : readAttempt(line)));
}

function readAttempt(line: string): AttemptRecord {
  const [attempt, startedAt, endedAt, error, isInterrupted] = readArray(JSON.parse(line));
  return {
    attempt: readNumber(attempt),
    startedAt: readNumber(startedAt),
    endedAt: readNumber(endedAt),
    ...(isInterrupted === 1 ? { isInterrupted: true } : { error: decodeError(JSON.stringify(error)) }),
  };
}
