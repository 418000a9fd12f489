import { HubError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import type { LogBounds, LogEntry } from '../../transports/bounded-log.js';
import { workflowOf } from '../../transports/delivery.js';
import { TransportUnavailableError } from '../../transports/errors.js';
import { auditLog, auditOutcomesLog } from '../../transports/stored-keys.js';
import type { Logger, TransportManager } from '../../transports/transport.js';

/** Action that the audit records. `payload` is a look at the contents of an event, `search` one for a tag or a key. */
export type AuditedAction =
  | 'replay'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'approve'
  | 'refuse'
  | 'retire'
  | 'erase'
  | 'fork'
  | 'payload'
  | 'search';

/** Person or program that acts. With `by`, the audit of the hub records the action before it is carried out. */
export interface ActionOptions {
  /** Name of the person or program, 1 to 512 characters. Logged and stored as it is, also with a codec. */
  by?: string;
  /** Reason that the audit shows, 1 to 512 characters. Needs `by`. Stored as it is, also with a codec. */
  reason?: string;
  /** Place from which the action was asked for, 1 to 512 characters; the page and the command line name themselves. @default 'code' */
  via?: string;
}

/** Subject of an action. */
export interface AuditTarget {
  /** Event, run or dead letter. */
  readonly id?: string;
  /** The first 20 events, runs or dead letters of a bulk action. */
  readonly ids?: readonly string[];
  /** Number of events, runs or dead letters of a bulk action. */
  readonly count?: number;
  readonly type?: string;
  readonly workflow?: string;
  readonly schedule?: string;
  readonly service?: string;
  readonly requestId?: string;
  /** Error group of the dead letters of a bulk action. */
  readonly errorGroup?: string;
  /** Step that waited for an approval. */
  readonly step?: string;
}

/** Result of an action. */
export interface AuditOutcome {
  /** Number of subjects on which it was carried out; 0 if there was nothing to cancel or resume. */
  readonly done: number;
  /** Number of subjects on which it failed. */
  readonly failed: number;
  /** Code of the error with which it failed as a whole, if that has one. */
  readonly code?: string;
}

/** Action of a person or a program. */
export interface AuditEntry {
  /** Position in the audit, from 0. */
  readonly sequence: number;
  /** Epoch milliseconds, by the clock of the store. */
  readonly at: number;
  readonly action: AuditedAction;
  readonly by: string;
  /** `page`, `cli`, `mcp`, `code`, or the place that the caller named. */
  readonly via: string;
  /** Redacted as the message of an error with the name `Audit`. */
  readonly reason?: string;
  readonly target: AuditTarget;
  /** Absent until the action has ended, if its process or the store was lost before, and for looks: `payload` and `search`. */
  readonly outcome?: AuditOutcome;
}

/** Options of `hub.audit`. */
export interface AuditOptions {
  /** Maximum number of entries, the newest ones, 1 to 1,000. @default 1_000 */
  limit?: number;
}

const maxEntries = 1_000;
const shownIds = 20;
const bounds: LogBounds = { maxEntries, maxBytes: 33_554_432, maxAgeMs: 1_000_000_000_000 };
// Actions that are carried out at once end in another order.
const outcomeBounds: LogBounds = { ...bounds, maxEntries: 2 * maxEntries };

/** Names of {@link ActionOptions}. */
export const actionOptionNames: readonly (keyof ActionOptions)[] = ['by', 'reason', 'via'];

/** Checks who acts. @throws {InvalidOptionError} */
export function checkActor(check: OptionChecker, { by, reason, via }: ActionOptions): void {
  check.name('by', by);
  check.name('reason', reason);
  check.name('via', via);
  check.that(by !== undefined || (reason === undefined && via === undefined), 'by', 'set with reason or via', by);
}

/** Returns the target of an action on several events: their number, and the first of them. */
export function targetOfMany(ids: readonly string[]): AuditTarget {
  return { count: ids.length, ids: ids.slice(0, shownIds) };
}

interface Auditing {
  readonly transport: Pick<TransportManager, 'log' | 'lookup'>;
  readonly logger: Logger;
}

/**
 * Records an action, carries it out, and records its outcome; nothing is recorded if nobody is named. No action is carried
 * out without an entry.
 *
 * @param outcomeOf returns the outcome. @default nothing to do if `act` resolved with `false`, done otherwise
 */
export async function audited<T>(
  parts: Auditing,
  action: AuditedAction,
  subject: AuditTarget,
  actor: ActionOptions,
  act: () => Promise<T>,
  outcomeOf: (result: T) => AuditOutcome = (result) => ({ done: result === false ? 0 : 1, failed: 0 }),
): Promise<T> {
  const sequence = await recordAction(parts, action, subject, actor);
  const record = async (outcome: AuditOutcome): Promise<void> => {
    if (sequence === undefined) return;
    const text = JSON.stringify({ of: sequence, outcome });
    await parts.transport.log
      .append(auditOutcomesLog, [text], outcomeBounds)
      .catch((error: unknown) => parts.logger.warn({ action, err: error }, 'outcome not recorded in the audit'));
  };
  try {
    const result = await act();
    await record(outcomeOf(result));
    return result;
  } catch (error) {
    // The caller waits for no second call of a store that does not answer.
    if (error instanceof TransportUnavailableError) throw error;
    await record({ done: 0, failed: 1, ...(HubError.is(error) && { code: error.code }) });
    throw error;
  }
}

/**
 * Records an action, and logs it in one line, unless nobody is named. The target of an event or run has its type or
 * workflow too, if it is still known. Returns the position of its entry.
 */
export async function recordAction(
  { transport, logger }: Auditing,
  action: AuditedAction,
  subject: AuditTarget,
  { by, reason, via = 'code' }: ActionOptions,
): Promise<number | undefined> {
  if (by === undefined) return undefined;
  const target = { ...subject, ...(await nameOf(subject, transport.lookup)) };
  const entry = { action, by, via, ...(reason !== undefined && { reason }), target };
  const sequence = await transport.log.append(auditLog, [JSON.stringify(entry)], bounds);
  logger.info({ action, by, via, ...target }, 'action recorded in the audit');
  return sequence;
}

async function nameOf(
  { id, service }: AuditTarget,
  lookup: TransportManager['lookup'],
): Promise<Pick<AuditTarget, 'type' | 'workflow'>> {
  const found = id === undefined ? [] : await lookup.find(id);
  const record = found.find((each) => each.service === service) ?? found[0];
  if (record === undefined) return {};
  const { type } = record;
  const workflow = workflowOf(type);
  return workflow === undefined ? { type } : { workflow };
}

/** Reads the audit, newest first. @throws {InvalidOptionError} */
export async function readAudit(
  log: TransportManager['log'],
  redactor: Redactor,
  options: AuditOptions = {},
): Promise<readonly AuditEntry[]> {
  const check = new OptionChecker(options, ['limit'], 'audit');
  const { limit = maxEntries } = options;
  check.count('limit', limit, { max: maxEntries });
  const { entries } = await log.read(auditLog, { limit: maxEntries });
  const outcomes = new Map(
    (await log.read(auditOutcomesLog, { limit: outcomeBounds.maxEntries })).entries.map(parseOutcome),
  );
  return entries
    .slice(-limit)
    .reverse()
    .flatMap(({ sequence, at, text }) => {
      const entry = parseEntry(text);
      if (entry === undefined) return [];
      const { reason, ...rest } = entry;
      const shown = reason === undefined ? undefined : redactor.recorded({ name: 'Audit', message: reason }).message;
      const outcome = outcomes.get(sequence);
      return [{ sequence, at, ...rest, ...(shown !== undefined && { reason: shown }), ...(outcome && { outcome }) }];
    });
}

/** Returns a stored entry; `undefined` for one that it does not understand. */
function parseEntry(text: string): Omit<AuditEntry, 'sequence' | 'at'> | undefined {
  const { action, by, via, reason, target } = Object(parseOrUndefined(text)) as Partial<
    Record<keyof AuditEntry, unknown>
  >;
  const isEntry = [action, by, via].every((field) => typeof field === 'string') && typeof target === 'object';
  if (!isEntry || target === null || !(reason === undefined || typeof reason === 'string')) return undefined;
  // An entry of a later version may name another action, and has the same form.
  return { action, by, via, target, ...(reason !== undefined && { reason }) } as Omit<AuditEntry, 'sequence' | 'at'>;
}

/** Returns the position of an entry, and its outcome. */
function parseOutcome({ text }: LogEntry): readonly [of: unknown, outcome: AuditOutcome | undefined] {
  const { of, outcome } = Object(parseOrUndefined(text)) as { readonly of?: unknown; readonly outcome?: unknown };
  const { done, failed, code } = Object(outcome) as Partial<Record<keyof AuditOutcome, unknown>>;
  if (typeof done !== 'number' || typeof failed !== 'number') return [of, undefined];
  return [of, { done, failed, ...(typeof code === 'string' && { code }) }];
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
