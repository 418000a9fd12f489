import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowType } from '../../transports/delivery.js';
import type { FailureRecord } from '../../transports/statistics/stats.js';
import type { DeadLetterRecord, TransportManager } from '../../transports/transport.js';
import type { EventRef } from '../events/emit.js';
import type { AnyWorkflow } from '../runs/workflow.js';
import { groupOfError } from './error-mask.js';

/** Dead letters per type that are compared with error groups, the newest ones. */
export const maxGroupedDeadLetters = 10_000;

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
  /** Only those of this error group: an id of `hub.errorGroups`. @default all groups */
  errorGroup?: string;
  /** Only events that failed at this time or later: a date, or epoch milliseconds. @default all times */
  since?: Date | number;
  /** Only events that failed at this time or earlier: a date, or epoch milliseconds. @default all times */
  until?: Date | number;
  /** Service of the dead letters. @default the service of the hub */
  service?: string;
}

/** Event type, workflow, or a name. A name matches the event type and the workflow of that name. */
export type DeadLetterSource<TPayload = unknown> = EventRef<TPayload> | AnyWorkflow | string;

/** Reads dead letters, newest first. @throws {InvalidOptionError} */
export async function readDeadLetters<TPayload>(
  source: DeadLetterSource<TPayload>,
  options: DeadLetterOptions,
  { deadLetters, lookup, service: own }: Pick<TransportManager, 'deadLetters' | 'lookup' | 'service'>,
  redactor: Redactor,
): Promise<readonly DeadLetter<TPayload>[]> {
  const check = new OptionChecker(
    options,
    ['limit', 'requestId', 'errorGroup', 'since', 'until', 'service'],
    'deadLetters',
  );
  const { limit = 100, requestId, errorGroup, service } = options;
  check.count('limit', limit);
  if (requestId !== undefined) check.name('requestId', requestId);
  if (errorGroup !== undefined) check.name('errorGroup', errorGroup);
  check.name('service', service);
  const [since, until] = (['since', 'until'] as const).map((name) => {
    const time = options[name];
    const ms = time instanceof Date ? time.getTime() : time;
    check.that(ms === undefined || Number.isFinite(ms), name, 'a date or epoch milliseconds', time);
    return ms;
  });
  const filter = { requestId, since, until, service };
  const list = async (type: string): Promise<readonly DeadLetterRecord[]> => {
    if (errorGroup === undefined) return deadLetters.list(type, limit, filter);
    const all = await lookup.deadLetterErrors(type, maxGroupedDeadLetters);
    const ofService = all.filter((letter) => letter.service === (service ?? own));
    const ofGroup = ofService.filter(({ error }) => groupOfError(type, error).id === errorGroup);
    if (ofGroup.length === 0) return [];
    const ids = new Set(ofGroup.map(({ id }) => id));
    return (await deadLetters.list(type, ofService.length, filter)).filter(({ envelope }) => ids.has(envelope.id));
  };
  const records = await Promise.all(typesOf(source).map(list));
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
