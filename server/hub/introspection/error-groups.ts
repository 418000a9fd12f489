import type { Redactor } from '../../redaction.js';
import { workflowOf } from '../../transports/delivery.js';
import { errorsKey } from '../../transports/stored-keys.js';
import type { DeadLetterError, Logger, TransportManager, TypeCounts } from '../../transports/transport.js';
import type { CountedError, ErrorCounter } from '../events/attempt-ctx.js';
import { maxGroupedDeadLetters } from './dead-letters.js';
import { groupOfError } from './error-mask.js';

const maxGroups = 50;
const maxNewest = 10;
const hourMs = 3_600_000;
const historyHours = 7 * 24;
const retainedMs = 30 * 24 * hourMs;
const flushMs = 1_000;
/** Types of which a read of all types returns groups, those that failed last. */
const maxTypes = 200;

/** Event or run that failed terminally. */
export interface GroupedFailure {
  readonly id: string;
  readonly requestId: string;
  /** Time of the failure in epoch milliseconds. */
  readonly at: number;
  /** Number of the last attempt, from 1. */
  readonly attempt: number;
  /** Step that failed, of a run. */
  readonly step?: string;
  /** Release of the process in which it failed. */
  readonly release?: string;
}

/** Failures of one hour. */
export interface ErrorHour {
  /** Start of the hour in epoch milliseconds. */
  readonly at: number;
  /** Terminal failures. */
  readonly failures: number;
  /** Failed attempts. */
  readonly attempts: number;
}

/** Errors of one event type or workflow with the same name and message, apart from numbers, ids and quoted texts. */
export interface ErrorGroup {
  /** The same in every process, and for every failure with this type, name and masked message. */
  readonly id: string;
  /** Event type; absent for a workflow. */
  readonly eventType?: string;
  readonly workflow?: string;
  readonly name: string;
  /** Redacted message with numbers, ids and addresses as `#` and quoted texts as `"…"`, cut to 256 characters. */
  readonly message: string;
  /** Events or runs that failed terminally. */
  readonly failures: number;
  /** Failed attempts: of events, and of the steps of runs, those that led to a terminal failure included. */
  readonly attempts: number;
  /** Epoch milliseconds. */
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  /** Release of the process in which it was first seen. */
  readonly firstRelease?: string;
  readonly lastRelease?: string;
  /** Open dead letters with this error in all services, among the newest 10,000 of the type. */
  readonly deadLetters: number;
  /** Hours with failures, of the last 7 days, the earliest first. */
  readonly history: readonly ErrorHour[];
  /** The 10 newest terminal failures, newest first. */
  readonly newest: readonly GroupedFailure[];
}

/** Error groups as the key-value store has them: one value per type. */
type StoredGroup = Omit<ErrorGroup, 'eventType' | 'workflow' | 'deadLetters'>;

interface StoredGroups {
  /** Grows with each change. */
  readonly revision: number;
  readonly groups: readonly StoredGroup[];
}

/** Parts of a hub that its error groups use. */
export interface ErrorGroupsParts {
  readonly transport: Pick<TransportManager, 'clock' | 'kv' | 'lookup' | 'counts'>;
  readonly redactor: Redactor;
  readonly logger: Logger;
  readonly release: string | undefined;
}

/**
 * Errors of a store as groups: one value per type, which each process changes by compare-and-set at most once per second
 * with what it counted meanwhile. A failure costs the process a few microseconds, and the store nothing. A process that is
 * killed takes what it counted in its last second with it; dead letters without a group form one when they are read.
 */
export class ErrorGroups implements ErrorCounter {
  readonly #parts: ErrorGroupsParts;
  #counted = new Map<string, Map<string, StoredGroup>>();
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(parts: ErrorGroupsParts) {
    this.#parts = parts;
  }

  count({ type, error, isTerminal, isCounted = false, ...failure }: CountedError): void {
    const { release } = this.#parts;
    const { at } = failure;
    const [failures, attempts] = [Number(isTerminal), Number(!isCounted)];
    const seen = release === undefined ? {} : { firstRelease: release, lastRelease: release };
    this.#add(type, {
      ...groupOfError(type, error),
      ...{ failures, attempts, firstSeenAt: at, lastSeenAt: at, ...seen },
      history: [{ at: Math.floor(at / hourMs) * hourMs, failures, attempts }],
      newest: isTerminal ? [release === undefined ? failure : { ...failure, release }] : [],
    });
    this.#flushLater();
  }

  #flushLater(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    // Other processes do not see a fake clock.
    this.#timer = setTimeout(() => void this.flush(), flushMs);
    this.#timer.unref();
  }

  /** Stores what was counted, for the last time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  /** Stores what was counted. Never rejects: what could not be stored is stored later. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = this.#last.then(async () => {
      const counted = this.#counted;
      this.#counted = new Map();
      await Promise.all([...counted].map(([type, groups]) => this.#store(type, [...groups.values()])));
    });
    return this.#last.then(() => {});
  }

  /** Returns the groups of types, those seen last first, with what this process counted. */
  async read(types: readonly string[], counts: readonly TypeCounts[]): Promise<readonly ErrorGroup[]> {
    await this.flush();
    const failed = types
      .map((type, index) => ({ type, counts: counts[index]?.total }))
      .filter(({ counts: total }) => total !== undefined && total.failed - total.cancelled + total.retried > 0)
      .sort((a, b) => (b.counts?.lastFailedAt ?? 0) - (a.counts?.lastFailedAt ?? 0))
      .slice(0, maxTypes);
    const found = await Promise.all(
      failed.map(({ type, counts: total }) => this.#readType(type, (total?.deadLetters ?? 0) > 0)),
    );
    return found.flat().sort((a, b) => b.lastSeenAt - a.lastSeenAt);
  }

  /** Returns a number that changes with the stored groups of a type. */
  async revision(type: string): Promise<number> {
    return parseStored(await this.#parts.transport.kv.get(errorsKey(type))).revision;
  }

  /** Removes the failures of a request from the lists of newest ones. */
  async erase(requestId: string, types: readonly string[]): Promise<void> {
    await this.flush();
    const isOther = (failure: GroupedFailure): boolean => failure.requestId !== requestId;
    await Promise.all(
      types.map((type) =>
        this.#change(type, (groups) =>
          groups.every(({ newest }) => newest.every(isOther))
            ? undefined
            : groups.map((group) => ({ ...group, newest: group.newest.filter(isOther) })),
        ),
      ),
    );
  }

  #add(type: string, group: StoredGroup): void {
    let groups = this.#counted.get(type);
    if (groups === undefined) {
      groups = new Map();
      this.#counted.set(type, groups);
    }
    const known = groups.get(group.id);
    // The last one in the order of the map is the one that was seen last.
    groups.delete(group.id);
    groups.set(group.id, known === undefined ? group : mergeGroups(known, group));
    if (groups.size <= maxGroups) return;
    for (const oldest of groups.keys()) {
      groups.delete(oldest);
      return;
    }
  }

  async #store(type: string, counted: readonly StoredGroup[]): Promise<void> {
    try {
      await this.#change(type, (groups, now) => {
        const merged = new Map(groups.map((group) => [group.id, group]));
        for (const group of counted) {
          const known = merged.get(group.id);
          merged.set(group.id, known === undefined ? group : mergeGroups(known, group));
        }
        return [...merged.values()]
          .filter(({ lastSeenAt }) => lastSeenAt > now - retainedMs)
          .sort((a, b) => b.lastSeenAt - a.lastSeenAt)
          .slice(0, maxGroups);
      });
    } catch (err) {
      this.#parts.logger.debug({ err }, 'error groups could not be stored, will retry');
      for (const group of counted) this.#add(type, group);
      this.#flushLater();
    }
  }

  /** @param update returns the groups after the change; `undefined` if there is nothing to change */
  async #change(
    type: string,
    update: (groups: readonly StoredGroup[], now: number) => readonly StoredGroup[] | undefined,
  ): Promise<void> {
    const { kv, clock } = this.#parts.transport;
    const key = errorsKey(type);
    for (;;) {
      const text = await kv.get(key);
      const { revision, groups } = parseStored(text);
      const now = clock.now();
      const changed = update(groups, now);
      if (changed === undefined) return;
      const next: StoredGroups = { revision: Math.max(revision + 1, now), groups: changed };
      if (await kv.compareAndSet(key, text, JSON.stringify(next), { ttlMs: retainedMs })) return;
    }
  }

  async #readType(type: string, hasDeadLetters: boolean): Promise<ErrorGroup[]> {
    const { transport, redactor } = this.#parts;
    const [text, letters] = await Promise.all([
      transport.kv.get(errorsKey(type)),
      hasDeadLetters ? transport.lookup.deadLetterErrors(type, maxGroupedDeadLetters) : [],
    ]);
    const open = new Map<string, StoredGroup>();
    for (const letter of letters) {
      const group = groupOfDeadLetter(type, letter);
      const known = open.get(group.id);
      open.set(group.id, known === undefined ? group : mergeGroups(group, known));
    }
    const { groups } = parseStored(text);
    const stored = new Set(groups.map(({ id }) => id));
    const all = [...groups, ...[...open.values()].filter(({ id }) => !stored.has(id))];
    const workflow = workflowOf(type);
    const subject = workflow === undefined ? { eventType: type } : { workflow };
    const firstHour = transport.clock.now() - historyHours * hourMs;
    return all.map((group) => {
      const { name, message } = redactor.recorded({ name: group.name, message: group.message });
      const history = group.history.filter(({ at }) => at > firstHour);
      const deadLetters = open.get(group.id)?.failures ?? 0;
      return { ...group, ...subject, name, message, history, deadLetters };
    });
  }
}

/** Returns the group that dead letters form of which no group is stored. */
function groupOfDeadLetter(type: string, { id, requestId, at, attempt, error }: DeadLetterError): StoredGroup {
  return {
    ...groupOfError(type, error),
    ...{ failures: 1, attempts: attempt, firstSeenAt: at, lastSeenAt: at },
    history: [{ at: Math.floor(at / hourMs) * hourMs, failures: 1, attempts: attempt }],
    newest: [{ id, requestId, at, attempt }],
  };
}

/** Returns the sum of two groups with the same id. @param added seen later, or by another process */
function mergeGroups(known: StoredGroup, added: StoredGroup): StoredGroup {
  const first = known.firstSeenAt <= added.firstSeenAt ? known : added;
  const last = known.lastSeenAt <= added.lastSeenAt ? added : known;
  const { firstRelease } = first;
  const { lastRelease } = last;
  const hours = new Map(known.history.map((hour) => [hour.at, hour]));
  for (const { at, failures, attempts } of added.history) {
    const hour = hours.get(at);
    hours.set(at, { at, failures: failures + (hour?.failures ?? 0), attempts: attempts + (hour?.attempts ?? 0) });
  }
  return {
    id: known.id,
    name: known.name,
    message: known.message,
    failures: known.failures + added.failures,
    attempts: known.attempts + added.attempts,
    firstSeenAt: first.firstSeenAt,
    lastSeenAt: last.lastSeenAt,
    ...(firstRelease !== undefined && { firstRelease }),
    ...(lastRelease !== undefined && { lastRelease }),
    history: [...hours.values()].sort((a, b) => a.at - b.at).slice(-historyHours),
    newest: [...added.newest, ...known.newest].sort((a, b) => b.at - a.at).slice(0, maxNewest),
  };
}

/** Returns stored groups. Those that it does not understand, of another version, are omitted. */
function parseStored(text: string | undefined): StoredGroups {
  const { revision, groups } = Object(parseJson(text ?? '')) as Partial<Record<keyof StoredGroups, unknown>>;
  return { revision: Number(revision) || 0, groups: Array.isArray(groups) ? groups.filter(isGroup) : [] };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isGroup(value: unknown): value is StoredGroup {
  const group = Object(value) as Partial<Record<keyof StoredGroup, unknown>>;
  const texts = [group.id, group.name, group.message];
  const numbers = [group.failures, group.attempts, group.firstSeenAt, group.lastSeenAt];
  return (
    texts.every((text) => typeof text === 'string') &&
    numbers.every((number) => typeof number === 'number') &&
    Array.isArray(group.history) &&
    Array.isArray(group.newest)
  );
}
