import {
  type ErasedPayloads,
  type EventRecord,
  type EventStatus,
  eventOfRun,
  keepAttempt,
  nextRunPlace,
  readRunPlace,
  toRecentEvents,
  toRequestRecords,
} from '../../event-record.js';
import type { DeadLetterError, EventLookup } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { readArray, readNumber, readOptional, readString, unexpected } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { decodeAnyEnvelope, decodeError, readAttempts } from '../jobs/event-codec.js';
import { encodeName, eventIdOf, jobIdOf, serviceOf, serviceTypeOf, typeOf } from '../names.js';
import { readRun } from '../runs/stored-runs.js';

/** Returns the id of a request as arguments of a script: as JSON, and as the job id of the event with this id. */
export function requestArguments(requestId: string): string[] {
  return [JSON.stringify(requestId), jobIdOf(requestId)];
}

/** Returns the events that `readEvent` returned in a script. */
function readEvents(reply: unknown): EventRecord[] {
  return readArray(reply).map(readEvent);
}

function readEvent(reply: unknown): EventRecord {
  const [kind, ...rest] = readArray(reply);
  if (kind === 'run') return readRunEvent(rest);
  if (kind === 'pending') return readPendingEvent(rest);
  if (kind === 'ended') return readEndedEvent(rest);
  throw unexpected('a kind of event', kind);
}

function readRunEvent([reply, isDeadLetter]: readonly unknown[]): EventRecord {
  const run = readRun(reply);
  const [serviceType] = readArray(reply);
  const record = eventOfRun(typeOf(readString(serviceType)), run, isDeadLetter === 1);
  return { ...record, body: run.envelope.body };
}

function readPendingEvent(reply: readonly unknown[]): EventRecord {
  const [serviceType, jobId, status, acceptedAt, dueAt, ended, startedAt, attempts, requestId, causeId, data] = reply;
  const attempt = readNumber(ended) + 1;
  const start = readOptional(startedAt, readNumber);
  const earlier = readAttempts(readString(attempts));
  return {
    ...readIdentity(serviceType, jobId, requestId, causeId),
    status: readStatus(status),
    acceptedAt: readNumber(acceptedAt),
    dueAt: readOptional(dueAt, readNumber),
    endedAt: undefined,
    attempt,
    attempts: start === undefined ? earlier : keepAttempt(earlier, { attempt, startedAt: start }),
    error: undefined,
    step: undefined,
    isDeadLetter: false,
    body: readBody(jobId, serviceType, data),
    run: undefined,
  };
}

function readEndedEvent([serviceType, jobId, record, isDeadLetter, data]: readonly unknown[]): EventRecord {
  const [statusText, requestId, causeId, accepted, started = '', ended, attemptText, errorJson = '', step, ...tries] =
    readString(record).split('\n');
  const status = readStatus(statusText);
  const [endedAt, attempt] = [readNumber(ended), readNumber(attemptText)];
  const error = errorJson === '' ? undefined : decodeError(errorJson);
  const earlier = readAttempts(tries.join('\n'));
  const last = { attempt, startedAt: readNumber(started), endedAt, ...(error !== undefined && { error }) };
  return {
    ...readIdentity(serviceType, jobId, requestId, causeId),
    status,
    acceptedAt: accepted === '' ? endedAt : readNumber(accepted),
    dueAt: undefined,
    endedAt,
    attempt,
    attempts: started === '' ? earlier : keepAttempt(earlier, last),
    error,
    step: step === '' ? undefined : step,
    isDeadLetter: isDeadLetter === 1,
    body: readBody(jobId, serviceType, data),
    run: undefined,
  };
}

function readIdentity(
  serviceType: unknown,
  jobId: unknown,
  requestId: unknown,
  causeId: unknown,
): Pick<EventRecord, 'id' | 'type' | 'service' | 'requestId' | 'causeId'> {
  const name = readString(serviceType);
  const cause = readString(causeId);
  return {
    id: eventIdOf(readString(jobId)),
    type: typeOf(name),
    service: serviceOf(name),
    // A job whose data was changed in Redis carries no request.
    requestId:
      readOptional(requestId, (json) => readString(JSON.parse(readString(json)))) ?? eventIdOf(readString(jobId)),
    causeId: cause === '' ? undefined : readString(JSON.parse(cause)),
  };
}

function readBody(jobId: unknown, serviceType: unknown, data: unknown): string | undefined {
  const text = readString(data);
  if (text === '') return undefined;
  return decodeAnyEnvelope(readString(jobId), typeOf(readString(serviceType)), text).envelope.body;
}

function readStatus(status: unknown): EventStatus {
  if (status === 'active' || status === 'delayed' || status === 'waiting') return status;
  if (status === 'completed' || status === 'filtered' || status === 'failed' || status === 'cancelled') return status;
  throw unexpected('the status of an event', status);
}

/** Returns the reply of `scripts.erase`. */
function readErased(reply: unknown): ErasedPayloads {
  const [deadLetters, runs, pending] = readArray(reply).map(readNumber);
  return { deadLetters: deadLetters ?? 0, runs: runs ?? 0, pending: pending ?? 0 };
}

/** Returns the reply of `scripts.deadLetterErrors`. */
function readDeadLetterErrors(reply: unknown): DeadLetterError[] {
  return readArray(reply).flatMap((ofService) => {
    const [serviceType, ...letters] = readArray(ofService);
    const service = serviceOf(readString(serviceType));
    return letters.map((letter) => {
      const [jobId, request, at, attempt, error] = readArray(letter);
      const id = eventIdOf(readString(jobId));
      // A job whose data was changed in Redis carries no request.
      const requestId = request === '' ? id : readString(JSON.parse(readString(request)));
      const failure = { at: readNumber(at), attempt: readNumber(attempt), error: decodeError(readString(error)) };
      return { id, service, requestId, ...failure };
    });
  });
}

/** Returns the lookups of the events of all services on Redis. */
export function redisEvents(commands: CommandClient): Omit<EventLookup, 'overview'> {
  return {
    recent: async (type) => toRecentEvents(readEvents(await commands.runScript(scripts.recent, [encodeName(type)]))),
    async runs(type, service, { limit, after }) {
      const { part, number = '' } = readRunPlace(after);
      const list = part === 'runs' ? part : 'dead-letters';
      const args = [serviceTypeOf(service, type), limit, list, number];
      const [found, stoppedAt] = readArray(await commands.runScript(scripts.runPage, args));
      return { events: readEvents(found), ...nextRunPlace(part, readOptional(stoppedAt, readString)) };
    },
    async find(id, { bodies = false } = {}) {
      return readEvents(await commands.runScript(scripts.find, [jobIdOf(id), bodies ? 'all' : 'shown']));
    },
    async request(requestId) {
      return toRequestRecords(readEvents(await commands.runScript(scripts.request, requestArguments(requestId))));
    },
    async kept(id) {
      return readArray(await commands.runScript(scripts.kept, [jobIdOf(id)])).map((each) => {
        const [serviceType, jobId, type] = readArray(each).map(readString);
        const [of = '', run = '', kept = ''] = [serviceType, jobId, type];
        return { type: decodeURIComponent(kept), service: serviceOf(of), runType: typeOf(of), runId: eventIdOf(run) };
      });
    },
    async deadLetterErrors(type, limit) {
      const reply = await commands.runScript(scripts.deadLetterErrors, [encodeName(type), limit]);
      return readDeadLetterErrors(reply)
        .sort((a, b) => b.at - a.at)
        .slice(0, limit);
    },
    erase: async (requestId) => readErased(await commands.runScript(scripts.erase, requestArguments(requestId))),
  };
}
