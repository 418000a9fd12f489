import { InvalidOptionError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import type { FailureRecord } from '../../transports/stats.js';
import type { DeadLetterRecord, TransportManager } from '../../transports/transport.js';
import { workflowType } from '../../transports/workflow-type.js';
import type { HubWorkflow } from '../runs/workflow.js';
import type { EventRef } from './event-ref.js';

/** An event, or a workflow's run, that failed for good. `hub.replay` takes its `id`. */
export interface DeadLetter<TPayload = unknown> extends FailureRecord {
  readonly requestId: string;
  /** As it was emitted; of a run, what it was started with. */
  readonly payload: TPayload;
}

/** Settings of one `deadLetters`. */
export interface DeadLetterOptions {
  /** How many to read, the newest: a payload may be large. @default 100 */
  limit?: number;
}

/** An event type, or a workflow; a name may stand for both. */
export type DeadLetterSource<TPayload = unknown> = EventRef<TPayload> | HubWorkflow | string;

/** Newest first. @throws {InvalidOptionError} */
export async function readDeadLetters<TPayload>(
  source: DeadLetterSource<TPayload>,
  options: DeadLetterOptions,
  transport: TransportManager,
): Promise<readonly DeadLetter<TPayload>[]> {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError('options of deadLetters', 'an object', options);
  }
  checkOptionNames(options, ['limit'], 'deadLetters');
  const { limit = 100 } = options;
  if (!(Number.isInteger(limit) && limit >= 1)) {
    throw new InvalidOptionError('limit of deadLetters', 'a whole number, 1 or more', limit);
  }
  const letters = await Promise.all(typesOf(source).map((type) => transport.deadLetters(type, limit)));
  return letters
    .flat()
    .sort((a, b) => b.at - a.at)
    .slice(0, limit)
    .map((letter) => toDeadLetter<TPayload>(letter));
}

function typesOf<TPayload>(source: DeadLetterSource<TPayload>): string[] {
  if (typeof source === 'string') return [source, workflowType(source)];
  if (typeof source === 'object' && source !== null) {
    if ('type' in source) return [source.type];
    if ('steps' in source) return [workflowType(source.name)];
  }
  throw new InvalidOptionError('deadLetters', 'a name, or what hub.event or createWorkflow returned', source);
}

function toDeadLetter<TPayload>({ envelope, at, attempt, error }: DeadLetterRecord): DeadLetter<TPayload> {
  const { id, requestId, body } = envelope;
  const { name, message } = error;
  // What its type is was checked when it was emitted, or else is the caller's word.
  return { id, at, attempt, name, message, requestId, payload: JSON.parse(body) as TPayload };
}
