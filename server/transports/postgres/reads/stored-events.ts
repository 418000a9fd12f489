import { type ErrorInfo, InvalidOptionError } from '../../../errors.js';
import type { CommitResult, CompleteEnvelope, Envelope, Offer, Outcome, RunWait } from '../../delivery.js';
import { replacedInfo } from '../../errors.js';
import {
  type AttemptRecord,
  type EventRecord,
  type EventStatus,
  eventOfRun,
  keepAttempt,
  type OpenWait,
  type RunRecord,
  type RunStatus,
} from '../../event-record.js';
import type { DeadLetterRecord } from '../../transport.js';
import {
  type Fields,
  readFields,
  readList,
  readNumber,
  readOptional,
  readText,
  unexpected,
} from '../connection/fields.js';

/** Returns an event as the functions of the schema read it. */
export function envelopeFields(envelope: Envelope): Fields {
  const {
    id,
    type,
    requestId,
    depth,
    delayMs,
    priority,
    replays,
    dedupe,
    trace,
    key,
    causeId,
    service,
    receives,
    cancelOn,
    parent,
    overlap,
    recorded,
  } = envelope;
  const { body } = envelope;
  const { id: dedupeId, windowMs } = dedupe ?? {};
  return {
    ...{ id, type, requestId, depth, delayMs, priority, replays, dedupeId, windowMs, trace, key, causeId, service },
    ...{ receives: receives?.length === 0 ? undefined : receives, parent, body, overlap },
    cancelOn: cancelOn?.length === 0 ? undefined : cancelOn,
    replaces: overlap === 'replace' ? replacedInfo(type) : undefined,
    recorded,
  };
}

/** Returns events as the items of a JSON array that the functions of the schema read. @throws {InvalidOptionError} */
export function eventItems(envelopes: readonly Envelope[]): string {
  // One that Postgres would refuse must not reach the call of others.
  for (const envelope of envelopes) checkTexts(envelope);
  return envelopes.map((envelope) => JSON.stringify(envelopeFields(envelope))).join();
}

// A text of Postgres has neither the character 0 nor half of a surrogate pair.
const refused = /[\0\p{Cs}]/u;

function checkTexts({ id, requestId, key, causeId, dedupe }: Envelope): void {
  for (const [name, text] of Object.entries({ id, requestId, key, causeId, dedupeId: dedupe?.id })) {
    if (text !== undefined && refused.test(text)) {
      throw new InvalidOptionError(name, 'a well-formed text without the character 0', text);
    }
  }
}

/** Returns a wait as the functions of the schema read it. */
export function waitFields({ run, onCancel, ...wait }: RunWait): Fields {
  return { ...wait, run: run && envelopeFields(run), onCancel: onCancel?.map(envelopeFields) };
}

/** Returns an outcome as the functions of the schema read it. */
export function outcomeFields(outcome: Outcome): Fields {
  if (outcome.status === 'completed' || outcome.status === 'failed') {
    const { status, durationMs } = outcome;
    const followUps = outcome.followUps.map(envelopeFields);
    if (status === 'completed') {
      return { status, durationMs, followUps, result: outcome.result, isFiltered: outcome.filtered };
    }
    const { error, step, cancelled } = outcome;
    return { status, durationMs, followUps, error, step, isCancelled: cancelled };
  }
  if (outcome.status !== 'retry') return { ...outcome };
  const { status, durationMs, delayMs, error } = outcome;
  return { status, durationMs, delayMs, error };
}

/** Event as the functions of the schema return it: pending, or ended and retained. */
export class StoredEvent {
  readonly #fields: Fields;
  readonly #row: Fields;
  readonly type: string;

  constructor(value: unknown) {
    this.#fields = readFields(value);
    this.#row = readFields(this.#fields['event']);
    this.type = readText(this.#fields['type']);
  }

  get seq(): number {
    return readNumber(this.#row['seq']);
  }

  get token(): number {
    return readNumber(this.#row['token']);
  }

  get queue(): number {
    return readNumber(this.#row['queue']);
  }

  get attempt(): number {
    return readNumber(this.#row['attempt']);
  }

  get crashes(): number {
    return readNumber(this.#row['crashes']);
  }

  /** A process died while the event ran alone in it. */
  get isCause(): boolean {
    return this.#row['is_cause'] === true;
  }

  get isAdmitted(): boolean {
    return this.#row['is_admitted'] === true;
  }

  get isRun(): boolean {
    return this.#fields['isRun'] === true;
  }

  get envelope(): Envelope {
    const row = this.#row;
    const parent = readOptional(row['parent'], readFields);
    const envelope: CompleteEnvelope = {
      id: readText(row['id']),
      type: this.type,
      requestId: readText(row['request_id']),
      depth: readNumber(row['depth']),
      delayMs: readNumber(row['delay_ms']),
      priority: readNumber(row['priority']),
      replays: readNumber(row['replays']),
      dedupe: undefined,
      trace: readOptional(row['trace'], readTrace),
      key: readOptional(row['key'], readText),
      causeId: readOptional(row['cause_id'], readText),
      parent: parent && {
        type: readText(parent['type']),
        id: readText(parent['id']),
        wait: readText(parent['wait']),
      },
      body: this.#body ?? 'null',
    };
    return envelope;
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return readEntries(this.#fields['entries'] ?? []);
  }

  get run(): RunRecord {
    const { envelope, attempt, checkpoints } = this;
    const { id } = envelope;
    const status = this.#runStatus;
    const needs = readNumber(this.#row['needs']);
    const kept = readOptional(this.#fields['kept'], readNumber);
    return {
      id,
      service: this.#service,
      envelope,
      acceptedAt: readNumber(this.#row['accepted_at']),
      attempt,
      status,
      checkpoints,
      neededVersion: this.#row['state'] === 'r' && status === 'waiting' && needs > 0 ? needs : undefined,
      waits: readList(this.#fields['waits'] ?? []).map(readWait),
      ...(kept !== undefined && { inbox: { kept, dropped: readNumber(this.#row['dropped']) } }),
      interruptions: this.#attempts,
      endedAt: readOptional(this.#fields['endedAt'], readNumber),
      result: readOptional(this.#fields['result'], readText),
      error: this.#error,
    };
  }

  /** @param withBody include the payload if it is stored */
  record(withBody = false): EventRecord {
    const body = withBody ? this.#body : undefined;
    const isDeadLetter = this.#fields['isDead'] === true;
    if (this.isRun) return { ...eventOfRun(this.type, this.run, isDeadLetter), body };
    const { envelope, attempt } = this;
    const { id, requestId, causeId } = envelope;
    const status = this.#status;
    const endedAt = readOptional(this.#fields['endedAt'], readNumber);
    const error = this.#error;
    const startedAt = readOptional(this.#row['started_at'], readNumber);
    const hasLast = startedAt !== undefined && endsAttempt.has(status);
    const last = (startedAt: number): AttemptRecord => ({
      attempt,
      startedAt,
      ...(endedAt !== undefined && { endedAt }),
      ...(error !== undefined && { error }),
    });
    return {
      ...{ id, type: this.type, service: this.#service, requestId, causeId, status },
      acceptedAt: readNumber(this.#row['accepted_at']),
      dueAt: readOptional(this.#row['due_at'], readNumber),
      ...{ endedAt, attempt, attempts: hasLast ? keepAttempt(this.#attempts, last(startedAt)) : this.#attempts },
      ...{ error, step: readOptional(this.#fields['step'], readText), isDeadLetter, body, run: undefined },
    };
  }

  get deadLetter(): DeadLetterRecord {
    const { envelope, attempt } = this;
    const error = this.#error;
    if (error === undefined) throw unexpected('the error of a dead letter', error);
    const step = readOptional(this.#fields['step'], readText);
    return { envelope, at: readNumber(this.#fields['endedAt']), attempt, error, step };
  }

  get #service(): string {
    return readText(this.#fields['service']);
  }

  get #body(): string | undefined {
    return readOptional(this.#fields['body'], readText);
  }

  get #error(): ErrorInfo | undefined {
    return readOptional(this.#fields['error'], readError);
  }

  get #attempts(): readonly AttemptRecord[] {
    return readList(this.#row['attempts']).map((json) => readAttempt(JSON.parse(readText(json))));
  }

  get #status(): EventStatus {
    const ended = endedStatuses[String(this.#fields['status'])];
    const status = ended ?? pendingStatuses[String(this.#row['state'])];
    if (status === undefined) throw unexpected('the status of an event', this.#row['state']);
    return status;
  }

  get #runStatus(): RunStatus {
    const status = this.#status;
    if (status === 'delayed') return 'waiting';
    if (status === 'filtered') return 'completed';
    return status === 'cancelled' ? 'failed' : status;
  }
}

/** Statuses of an event with a last attempt. */
const endsAttempt: ReadonlySet<EventStatus> = new Set(['active', 'completed', 'filtered', 'failed']);
const pendingStatuses: Readonly<Record<string, EventStatus>> = {
  r: 'waiting',
  d: 'delayed',
  a: 'active',
  s: 'suspended',
};
const endedStatuses: Readonly<Record<string, EventStatus>> = {
  c: 'completed',
  i: 'filtered',
  f: 'failed',
  x: 'cancelled',
};

/** Returns the entries of a run in the order of their recording. */
export function readEntries(value: unknown): ReadonlyMap<string, string> {
  return new Map(
    readList(value).map((entry) => {
      const [key, text] = readList(entry);
      return [readText(key), readText(text)];
    }),
  );
}

/** Returns the offers of a run. */
export function readOffers(value: unknown): readonly Offer[] {
  return readList(value).map((offer) => {
    const { kept, wait, isJudged, id, type, body } = readFields(offer);
    return {
      kept: readText(kept),
      wait: readOptional(wait, readText),
      isJudged: isJudged === true,
      id: readText(id),
      type: readText(type),
      body: readText(body),
    };
  });
}

/** Returns a stored error. */
export function readError(value: unknown): ErrorInfo {
  const { name, message, code } = readFields(value);
  return { name: readText(name), message: readText(message), ...(code !== undefined && { code: readText(code) }) };
}

function readAttempt(value: unknown): AttemptRecord {
  const { attempt, startedAt, endedAt, error, isInterrupted } = readFields(value);
  return {
    attempt: readNumber(attempt),
    startedAt: readNumber(startedAt),
    endedAt: readNumber(endedAt),
    ...(isInterrupted === true ? { isInterrupted } : { error: readError(error) }),
  };
}

function readWait(value: unknown): OpenWait {
  const { key, since, dueAt, eventType, eventKey, shownKey, runId, isApproval } = readFields(value);
  const due = readOptional(dueAt, readNumber);
  const type = readOptional(eventType, readText);
  const shown = readOptional(shownKey, readText);
  const child = readOptional(runId, readText);
  return {
    key: readText(key),
    since: readNumber(since),
    ...(due !== undefined && { dueAt: due }),
    ...(type !== undefined && {
      event: { type, key: readOptional(eventKey, readText), ...(shown !== undefined && { shownKey: shown }) },
    }),
    ...(child !== undefined && { runId: child }),
    ...(isApproval === true && { isApproval }),
  };
}

function readTrace(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(readFields(value)).map(([name, text]) => [name, readText(text)]));
}

/** @throws {UnexpectedDataError} */
export function readResult(value: unknown): CommitResult {
  const result = readText(value);
  if (result !== 'ok' && result !== 'already' && result !== 'fenced') throw unexpected('a result', value);
  return result;
}
