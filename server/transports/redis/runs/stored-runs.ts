import type { Offer, RunWait, Verdict } from '../../delivery.js';
import { approvalsFirst, type InboxRecord, type OpenWait, type RunRecord } from '../../event-record.js';
import { readArray, readHash, readNumber, readOptional, readString, unexpected } from '../connection/reply.js';
import { type ScriptArgument, scripts } from '../connection/script.js';
import { checkedMs } from '../connection/script-limits.js';
import {
  decodeAnyEnvelope,
  decodeError,
  emitArguments,
  envelopeArguments,
  keyArgument,
  readAttempts,
  receivesArgument,
  withoutOutput,
} from '../jobs/event-codec.js';
import { encodeName, eventIdOf, serviceOf, typeOf } from '../names.js';

/** Returns a run as `readRun` returns it in scripts. */
export function readRun(reply: unknown): RunRecord {
  const [serviceTypeValue, idValue, fields] = readArray(reply);
  const [serviceType, jobId] = [readString(serviceTypeValue), readString(idValue)];
  const [
    data,
    acceptedAt,
    attempt,
    statusValue,
    endedAt,
    outcomeValue,
    checkpoints,
    outputs,
    waits,
    attempts,
    needs,
    inbox,
  ] = readArray(fields);
  const { envelope } = decodeAnyEnvelope(jobId, typeOf(serviceType), readString(data));
  const status = readStatus(statusValue);
  const value = readOptional(outcomeValue, readString);
  return {
    id: envelope.id,
    service: serviceOf(serviceType),
    envelope,
    acceptedAt: readNumber(acceptedAt),
    attempt: readNumber(attempt),
    status,
    checkpoints: readCheckpoints(readHash(checkpoints), readHash(outputs)),
    neededVersion: readOptional(needs, readNumber),
    waits: readWaits(readHash(waits)),
    ...(Array.isArray(inbox) && { inbox: readInbox(inbox) }),
    interruptions: readAttempts(readString(attempts)),
    endedAt: readOptional(endedAt, readNumber),
    // Redis stores '' for a run that completed without a result.
    result: status === 'completed' && value !== '' ? value : undefined,
    error: status === 'failed' && value !== undefined ? decodeError(value) : undefined,
  };
}

function readInbox([kept, dropped]: readonly unknown[]): InboxRecord {
  return { kept: readNumber(kept), dropped: readNumber(dropped) };
}

/** Returns the latest runs per type, newest first, over all services. */
export function readRuns(reply: unknown, limit: number): RunRecord[][] {
  return readArray(reply).map((list) =>
    readArray(list)
      .map(readRun)
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .slice(0, limit),
  );
}

function readStatus(status: unknown): RunRecord['status'] {
  if (status === null || status === undefined) return 'waiting';
  if (status === 'active' || status === 'suspended' || status === 'completed' || status === 'failed') return status;
  throw unexpected('the status of a run', status);
}

/** Returns the reply of {@link scripts.waitingRuns}: at most `limit` runs per type. */
export function readWaiting(reply: unknown, limit: number): (readonly RunRecord[])[] {
  return readArray(reply).map((runs) => approvalsFirst(readArray(runs).map(readRun)).slice(0, limit));
}

/**
 * Returns checkpoints in the order of their creation.
 *
 * @param stored per key its order, the delivery that stored it, and what observers read
 * @param outputs read apart; a checkpoint whose output is left out has the output `null`
 */
export function readCheckpoints(
  stored: ReadonlyMap<string, string>,
  outputs: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const numbered = [...stored].map(([key, entry]) => {
    const [order = '', delivery = ''] = entry.split(' ', 2);
    const shown = entry.slice(order.length + delivery.length + 2);
    const output = outputs.get(key);
    const value = output === undefined ? shown : shown.slice(0, -withoutOutput.length) + output;
    return { key, order: Number(order), value };
  });
  return new Map(numbered.sort((a, b) => a.order - b.order).map(({ key, value }) => [key, value]));
}

/** Returns the offers of a run that a script returned. */
export function readOffers(reply: unknown): readonly Offer[] {
  return readArray(reply).map((fields) => {
    const [kept = '', wait = '', isJudged, type = '', id = '', body = 'null'] = readArray(fields).map(readString);
    return {
      kept,
      wait: wait === '' ? undefined : wait,
      isJudged: isJudged === '1',
      type: decodeURIComponent(type),
      id: eventIdOf(id),
      body,
    };
  });
}

/** Returns an offer and the verdict on it as the arguments that `decideOffer` reads. */
export function verdictArguments({ kept, wait, type }: Offer, verdict: Verdict): ScriptArgument[] {
  const entry = verdict.status === 'failed' ? verdict.entry : '';
  return [kept, wait ?? `cancel ${encodeName(type)}`, verdict.status, entry];
}

/** Returns a wait as the arguments that `scripts.wait` reads. */
export function waitArguments(wait: RunWait, service: string): ScriptArgument[] {
  const { key, delayMs, event, run, onCancel = [], isRetry, isApproval, isJudged } = wait;
  const purpose = isRetry === true ? 'retry' : isApproval === true ? 'approval' : isJudged === true ? 'judged' : '';
  return [
    key,
    delayMs === undefined ? '' : checkedMs(delayMs, 'delayMs of a wait'),
    event === undefined ? '' : encodeName(event.type),
    keyArgument(event?.key),
    event?.shownKey ?? '',
    purpose,
    onCancel.length === 0 ? '' : JSON.stringify(onCancel.map((envelope) => emitArguments(envelope, service))),
    ...(run === undefined ? [''] : ['1', ...envelopeArguments(run, service), receivesArgument(run)]),
  ];
}

/** Returns the open waits of a run in the order of their keys, from the hash in which scripts keep them. */
function readWaits(stored: ReadonlyMap<string, string>): OpenWait[] {
  const waits = [...stored].map(([key, json]) => readWait(key, Object(JSON.parse(json)) as Record<string, unknown>));
  return waits.sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1));
}

function readWait(key: string, { since, dueAt, event, child, isApproval }: Record<string, unknown>): OpenWait {
  const { type, key: eventKey, shownKey } = Object(event) as Record<string, unknown>;
  const { id } = Object(child) as Record<string, unknown>;
  return {
    key,
    since: Number(since),
    ...(typeof dueAt === 'number' && { dueAt }),
    ...(typeof type === 'string' && {
      event: {
        type: decodeURIComponent(type),
        key: readKey(eventKey),
        ...(typeof shownKey === 'string' && { shownKey }),
      },
    }),
    ...(typeof id === 'string' && { runId: eventIdOf(id) }),
    ...(isApproval === true && { isApproval }),
  };
}

function readKey(key: unknown): string | undefined {
  return typeof key === 'string' && key !== '' ? decodeURIComponent(key.slice(1)) : undefined;
}
