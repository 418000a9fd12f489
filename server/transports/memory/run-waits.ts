import type { Clock } from '../clock.js';
import type { Envelope, OpenWait, RunWait } from '../transport.js';
import type { Entry, StoredWait, WaitOwner } from './entry.js';

/** Open waits of all runs. The first condition of a wait that comes true resolves it. */
export class RunWaits {
  readonly #clock: Clock;
  readonly #byEvent = new Map<string, Map<string | undefined, Set<StoredWait>>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Stores a wait; `undefined` if its key is stored or resolved already. */
  add(wait: RunWait, owner: WaitOwner, entry: Entry): StoredWait | undefined {
    const { key, event } = wait;
    if (entry.checkpoints?.has(key) === true || entry.waits?.has(key) === true) return undefined;
    const stored: StoredWait = { wait, owner, entry, since: this.#clock.now(), timer: undefined };
    entry.waits ??= new Map();
    entry.waits.set(key, stored);
    if (event !== undefined) this.#waitsOf(event.type, event.key).add(stored);
    return stored;
  }

  resolveByTime(stored: StoredWait): void {
    this.#resolve(stored, `"by":"time"`);
  }

  /** Resolves the waits that the event matches. */
  resolveByEvent({ type, key, id, body }: Envelope): void {
    const byKey = this.#byEvent.get(type);
    if (byKey === undefined) return;
    const matching = [...(byKey.get(undefined) ?? []), ...(key === undefined ? [] : (byKey.get(key) ?? []))];
    const resolution = `"by":"event","id":${JSON.stringify(id)},"payload":${body}`;
    for (const stored of matching) this.#resolve(stored, resolution);
  }

  /** Resolves the wait of a run for a child. @param end the status, and the result or the error, as JSON fields */
  resolveByRun(parent: Entry | undefined, key: string, childId: string, end: string): void {
    const stored = parent?.waits?.get(key);
    if (stored !== undefined) this.#resolve(stored, `"by":"run","id":${JSON.stringify(childId)},${end}`);
  }

  /** Drops the waits of a run that has ended, and returns them. */
  drop(entry: Entry): readonly StoredWait[] {
    const waits = [...(entry.waits?.values() ?? [])];
    for (const stored of waits) this.#remove(stored);
    return waits;
  }

  #resolve(stored: StoredWait, resolution: string): void {
    const { wait, owner, entry, since } = stored;
    this.#remove(stored);
    const value = `{${resolution},"since":${since},"at":${this.#clock.now()}}`;
    entry.checkpoints?.set(wait.key, value);
    owner.recorded(entry, wait.key, value);
  }

  #remove(stored: StoredWait): void {
    const { wait, entry, owner } = stored;
    entry.waits?.delete(wait.key);
    if (entry.waits?.size === 0) entry.waits = undefined;
    owner.cancelTimer(stored);
    if (wait.event === undefined) return;
    const { type, key } = wait.event;
    const byKey = this.#byEvent.get(type);
    const waits = byKey?.get(key);
    waits?.delete(stored);
    if (waits?.size === 0) byKey?.delete(key);
    if (byKey?.size === 0) this.#byEvent.delete(type);
  }

  #waitsOf(type: string, key: string | undefined): Set<StoredWait> {
    let byKey = this.#byEvent.get(type);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byEvent.set(type, byKey);
    }
    let waits = byKey.get(key);
    if (waits === undefined) {
      waits = new Set();
      byKey.set(key, waits);
    }
    return waits;
  }
}

/** Returns the open waits of a run as its record shows them. */
export function openWaits(entry: Entry): OpenWait[] {
  return [...(entry.waits?.values() ?? [])].map(({ wait: { key, delayMs, event, run }, since }) => ({
    key,
    since,
    ...(delayMs !== undefined && { dueAt: since + delayMs }),
    ...(event !== undefined && { event }),
    ...(run !== undefined && { runId: run.id }),
  }));
}
