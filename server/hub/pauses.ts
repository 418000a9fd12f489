import { OptionChecker } from '../options.js';
import type { Redactor } from '../redaction.js';
import { workflowType } from '../transports/delivery.js';
import { BackpressureError } from '../transports/errors.js';
import { pausesKey, pausesLog } from '../transports/stored-keys.js';
import type { Logger, PausedTypes, TransportManager } from '../transports/transport.js';
import type { ActionOptions } from './operate/audit.js';

/**
 * Subject of a pause: an event type, a workflow or a schedule in all services, or a service with all its event types,
 * workflows and schedules.
 */
export type PauseTarget =
  | { readonly type: string }
  | { readonly workflow: string }
  | { readonly schedule: string }
  | { readonly service: string };

/** Kind of a {@link PauseTarget}. */
export type PauseKind = 'type' | 'workflow' | 'schedule' | 'service';

/** Options of `hub.pause`. */
export interface PauseOptions extends ActionOptions {
  /** Reason that health and dashboard show, 1 to 512 characters. The store has it as it is, also with a codec. */
  reason: string;
  /** Name of the person or program that pauses, 1 to 512 characters. Shown, logged and stored as it is. */
  by: string;
}

/** Options of `hub.resume`. */
export interface ResumeOptions extends ActionOptions {
  /** Name of the person or program that resumes, 1 to 512 characters. Logged, and stored as it is. */
  by: string;
}

/** Pause that is in effect. */
export interface Pause {
  readonly target: PauseTarget;
  readonly by: string;
  /** Redacted as the message of an error with the name `Pause`. */
  readonly reason: string;
  /** Epoch milliseconds, by the clock of the process that paused. */
  readonly since: number;
}

/** Pause beside the subject that it holds. */
export type PauseSummary = Omit<Pause, 'target'>;

const kinds: readonly PauseKind[] = ['type', 'workflow', 'schedule', 'service'];
const maxPauses = 1_000;
// An announcement may be lost, or be missing from a process of an earlier version.
const lookMs = 10_000;
// Entries last for a year: a log that expires begins anew, and a reader may take it for the one that it knows.
const announced = { maxEntries: 1, maxBytes: 64, maxAgeMs: 31_536_000_000 };

/** Name and kind of a target. */
export interface NamedTarget {
  readonly kind: PauseKind;
  readonly name: string;
}

/** Returns kind and name of a target. @throws {InvalidOptionError} unless it has one valid name */
export function namedTarget(target: PauseTarget, operation: string): NamedTarget {
  const check = new OptionChecker(target, kinds, operation, 'target');
  const named = Object.entries(target);
  check.that(named.length === 1, kinds.join(' or '), 'one of them', named.length);
  const [kind, name] = named[0] as [PauseKind, unknown]; // the checker refuses other names
  check.name(kind, name);
  return { kind, name: String(name) };
}

/** Pauses as the key-value store has them. */
interface StoredPauses {
  /** Grows with each change. */
  readonly revision: number;
  readonly pauses: readonly Pause[];
}

/** Parts of a hub that its pauses use. */
export interface PausesParts {
  readonly transport: Pick<TransportManager, 'service' | 'clock' | 'kv' | 'log' | 'pause'>;
  readonly redactor: Redactor;
  readonly logger: Logger;
}

/**
 * Pauses of a store: one value that every hub reads, and changes by compare-and-set, and a log that announces its changes.
 * A hub with handlers or schedules reads it before its first delivery and after each change, and tells its transport what
 * to hold.
 */
export class Pauses {
  readonly #parts: PausesParts;
  #text: string | undefined;
  #stored: StoredPauses = { revision: 0, pauses: [] };
  #shown: readonly Pause[] = [];
  #held: PausedTypes['types'] = [];
  #isConsuming = false;
  #isFollowing = false;
  #endWatch = (): void => {};
  #timer: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  readonly #listeners = new Set<() => void>();

  constructor(parts: PausesParts) {
    this.#parts = parts;
  }

  /** Reads the pauses before the first delivery, and puts them into effect. */
  async open(): Promise<void> {
    this.#isConsuming = true;
    await this.#alone(async () => this.#apply(await this.#parts.transport.kv.get(pausesKey)));
  }

  /** Follows the changes of other processes, until `stop`. */
  async follow(): Promise<void> {
    this.#isFollowing = true;
    const end = await this.#parts.transport.log.watch(pausesLog, () => this.#look());
    if (this.#isFollowing) this.#endWatch = end;
    else end();
    this.#look();
  }

  stop(): void {
    this.#isFollowing = false;
    this.#endWatch();
    clearTimeout(this.#timer);
  }

  #look(): void {
    clearTimeout(this.#timer);
    if (!this.#isFollowing) return;
    // Other processes do not see a fake clock.
    this.#timer = setTimeout(() => this.#look(), lookMs).unref();
    this.#read().catch((err: unknown) => this.#parts.logger.debug({ err }, 'pauses could not be read, will retry'));
  }

  /** Returns the pauses in effect, as they may be shown. The same objects until one changes. */
  async current(): Promise<readonly Pause[]> {
    if (!this.#isFollowing) await this.#read();
    return this.#shown;
  }

  /** Changes with the pauses that `current` returned last. */
  get revision(): number {
    return this.#stored.revision;
  }

  /** Nothing of the type may start in the service of the hub. */
  holds(type: string): boolean {
    return this.#held === 'all' || this.#held.includes(type);
  }

  /** The service of the hub is paused. */
  get holdsService(): boolean {
    return this.#held === 'all';
  }

  /** The service of the hub claims no due time of the schedule. */
  holdsSchedule(schedule: string): boolean {
    const { service } = this.#parts.transport;
    return this.#stored.pauses.some(
      ({ target }) =>
        ('schedule' in target && target.schedule === schedule) || ('service' in target && target.service === service),
    );
  }

  /** Calls a function after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Pauses a target. One that is paused keeps its time. */
  async pause(target: PauseTarget, { reason, by }: PauseOptions): Promise<void> {
    await this.#change((pauses, now) => {
      const { since = now } = pauses.find((pause) => isSame(pause.target, target)) ?? {};
      const others = pauses.filter((pause) => !isSame(pause.target, target));
      if (others.length >= maxPauses) throw new BackpressureError('pauses', `${maxPauses}`);
      return [...others, { target, by, reason, since }];
    });
  }

  /** Ends a pause. Returns `false` if there is none. */
  resume(target: PauseTarget): Promise<boolean> {
    return this.#change((pauses) => {
      const others = pauses.filter((pause) => !isSame(pause.target, target));
      return others.length === pauses.length ? undefined : others;
    });
  }

  /** @param update returns the pauses after the change; `undefined` if there is nothing to change */
  #change(update: (pauses: readonly Pause[], now: number) => readonly Pause[] | undefined): Promise<boolean> {
    const { kv, clock } = this.#parts.transport;
    return this.#alone(async () => {
      for (;;) {
        const text = await kv.get(pausesKey);
        const { revision, pauses } = parseStored(text);
        const now = clock.now();
        const changed = update(pauses, now);
        if (changed === undefined) return false;
        // A store that lost the value does not return to a revision that it had.
        const next: StoredPauses = { revision: Math.max(revision + 1, now), pauses: changed };
        const nextText = JSON.stringify(next);
        if (!(await kv.compareAndSet(pausesKey, text, nextText))) continue;
        await Promise.all([this.#announce(next.revision), this.#apply(nextText)]);
        return true;
      }
    });
  }

  /** Never rejects: the change is in effect, and other processes look for it anyway. */
  async #announce(revision: number): Promise<void> {
    const { transport, logger } = this.#parts;
    try {
      await transport.log.append(pausesLog, [String(revision)], announced);
    } catch (err) {
      logger.warn(
        { err },
        `a change of the pauses was not announced: other processes see it within ${lookMs / 1_000} s`,
      );
    }
  }

  #read(): Promise<void> {
    return this.#alone(async () => {
      const text = await this.#parts.transport.kv.get(pausesKey);
      if (text !== this.#text) await this.#apply(text);
    });
  }

  async #apply(text: string | undefined): Promise<void> {
    const { transport, redactor } = this.#parts;
    const stored = parseStored(text);
    const { pauses, revision } = stored;
    const types = heldTypes(pauses, transport.service);
    if (this.#isConsuming && (text !== undefined || this.#text !== undefined)) {
      await transport.pause({ revision, types });
    }
    this.#text = text;
    this.#stored = stored;
    this.#held = types;
    this.#shown = pauses.map((pause) => ({
      ...pause,
      reason: redactor.recorded({ name: 'Pause', message: pause.reason }).message,
    }));
    for (const listener of [...this.#listeners]) listener();
  }

  /** Runs calls one after the other: a read must not undo a later change. */
  #alone<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(call);
    this.#last = result.catch(() => {});
    return result;
  }
}

function heldTypes(pauses: readonly Pause[], service: string): PausedTypes['types'] {
  if (pauses.some(({ target }) => 'service' in target && target.service === service)) return 'all';
  return pauses.flatMap(({ target }) => {
    if ('type' in target) return target.type;
    return 'workflow' in target ? workflowType(target.workflow) : [];
  });
}

function isSame(a: PauseTarget, b: PauseTarget): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns stored pauses. Entries that it does not understand, of another version, are omitted. */
function parseStored(text: string | undefined): StoredPauses {
  if (text === undefined) return { revision: 0, pauses: [] };
  const { revision, pauses } = Object(JSON.parse(text)) as Partial<Record<keyof StoredPauses, unknown>>;
  return { revision: Number(revision) || 0, pauses: Array.isArray(pauses) ? pauses.filter(isPause) : [] };
}

function isPause(value: unknown): value is Pause {
  const { target, by, reason, since } = Object(value) as Partial<Record<keyof Pause, unknown>>;
  const named = Object.entries(Object(target));
  const isTarget = named.length === 1 && named.every(([kind, name]) => isKind(kind) && typeof name === 'string');
  return isTarget && typeof by === 'string' && typeof reason === 'string' && typeof since === 'number';
}

function isKind(text: string): text is PauseKind {
  return (kinds as readonly string[]).includes(text);
}

/** Finds the pause that holds a subject. Returns the same object until the pauses change. */
export class PausedSubjects {
  readonly #pauses: readonly Pause[];
  readonly #summaries = new Map<string, PauseSummary>();

  constructor(pauses: readonly Pause[]) {
    this.#pauses = pauses;
    for (const { target, ...summary } of pauses) this.#summaries.set(JSON.stringify(target), summary);
  }

  /** The pauses themselves. */
  get all(): readonly Pause[] {
    return this.#pauses;
  }

  /**
   * Returns the pause of an event type, a workflow or a schedule, or else that of its services if all of them are
   * paused.
   *
   * @param services services that handle the subject
   */
  find(target: PauseTarget, services: Iterable<string>): PauseSummary | undefined {
    if (this.#pauses.length === 0) return undefined;
    const own = this.#summaries.get(JSON.stringify(target));
    if (own !== undefined) return own;
    const found = [...services].map((service) => this.#summaries.get(JSON.stringify({ service })));
    return found.includes(undefined) ? undefined : found[0];
  }
}
