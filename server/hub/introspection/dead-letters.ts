import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowType } from '../../transports/delivery.js';
import type { FailureRecord } from '../../transports/statistics/stats.js';
import type { DeadLetterRecord, DeadLetterStore } from '../../transports/transport.js';
import type { EventRef } from '../events/emit.js';
import type { AnyWorkflow } from '../runs/workflow.js';

/** Dead letter: an event or a workflow run that failed terminally. `hub.replay` takes its `id`. */
export interface DeadLetter<TPayload = unknown> extends FailureRecord {
  readonly requestId: string;
  /** Payload as it was emitted; the input of a run. */
  readonly payload: TPayload;
}

/** Options of `hub.deadLetters`. */
export interface DeadLetterOptions {
  /** Maximum number of dead letters to read, the newest first. @default 100 */
  limit?: number;
  /** Only the dead letters of this request. @default all requests */
  requestId?: string;
  /** Only events that failed at this time or later: a date, or epoch milliseconds. @default all times */
  since?: Date | number;
}

/** Event type, workflow, or a name. A name matches the event type and the workflow of that name. */
export type DeadLetterSource<TPayload = unknown> = EventRef<TPayload> | AnyWorkflow | string;

/** Reads dead letters, newest first. @throws {InvalidOptionError} */
export async function readDeadLetters<TPayload>(
  source: DeadLetterSource<TPayload>,
  options: DeadLetterOptions,
  deadLetters: DeadLetterStore,
  redactor: Redactor,
): Promise<readonly DeadLetter<TPayload>[]> {
  const check = new OptionChecker(options, ['limit', 'requestId', 'since'], 'deadLetters');
  const { limit = 100, requestId, since } = options;
  check.count('limit', limit);
  if (requestId !== undefined) check.name('requestId', requestId);
  const sinceMs = since instanceof Date ? since.getTime() : since;
  check.that(sinceMs === undefined || Number.isFinite(sinceMs), 'since', 'a date or epoch milliseconds', since);
  const filter = { requestId, since: sinceMs };
  const records = await Promise.all(typesOf(source).map((type) => deadLetters.list(type, limit, filter)));
  return records
    .flat()
    .sort((a, b) => b.at - a.at)
    .slice(0, limit)
    .map((record) => toDeadLetter<TPayload>({ ...record, error: redactor.recorded(record.error) }));
}

/** Returns the types that a source stands for. @throws {InvalidOptionError} */
export function typesOf<TPayload>(source: DeadLetterSource<TPayload>): string[] {
  if (typeof source === 'string') return [source, workflowType(source)];
  if (typeof source === 'object' && source !== null) {
    if ('type' in source) return [source.type];
    if ('steps' in source) return [workflowType(source.name)];
  }
  throw new InvalidOptionError('event type or workflow', 'a name or the result of hub.event or createWorkflow', source);
}

function toDeadLetter<TPayload>({ envelope, at, attempt, error, step }: DeadLetterRecord): DeadLetter<TPayload> {
  const { id, requestId, body } = envelope;
  const { name, message } = error;
  // `emit` checked the payload against the schema; without a schema the type is the caller's claim.
  const payload = readPayload(body) as TPayload;
  return { id, at, attempt, name, message, requestId, ...(step !== undefined && { step }), payload };
}

/** Returns `undefined` for a payload that was changed in the store: it must not hide the dead letters beside it. */
function readPayload(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
