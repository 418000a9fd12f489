import type { Clock } from '../../clock.js';
import { keptWaits } from '../../limits.js';
import type { Envelope, OpenWait, RunWait } from '../../transport.js';
import type { Entry, StoredWait, WaitOwner } from './entry.js';
import type { Journal } from './journal.js';

const noWaits: readonly OpenWait[] = [];

/** Open waits of all runs. The first condition of a wait that comes true resolves it. */
export class RunWaits {
  readonly #clock: Clock;
  readonly #journal: Journal;
  // Most keys have one wait, and a Set takes more than the rest of a wait.
  readonly #byEvent = new Map<string, Map<string | undefined, StoredWait | Set<StoredWait>>>();

  constructor(clock: Clock, journal: Journal) {
    this.#clock = clock;
    this.#journal = journal;
  }

  /** Stores a wait; `undefined` if its key is stored or resolved already. */
  add(wait: RunWait, owner: WaitOwner, entry: Entry): StoredWait | undefined {
    const { key } = wait;
    if (entry.checkpoints?.has(key) === true || findWait(entry, key) !== undefined) return undefined;
    const stored: StoredWait = { wait, owner, entry, since: this.#clock.now(), timer: undefined };
    this.restore(stored);
    this.#journal.wait(stored, true);
    return stored;
  }

  /** Adds a wait that is stored already. */
  restore(stored: StoredWait): void {
    const { entry, wait } = stored;
    addWait(entry, stored);
    if (wait.event !== undefined) this.#addToEvent(wait.event.type, wait.event.key, stored);
    if (wait.isApproval === true) stored.owner.approvals(stored)?.add(stored);
  }

  resolveByTime(stored: StoredWait): void {
    // Another condition may have resolved it since it was due.
    if (findWait(stored.entry, stored.wait.key) === stored) this.#resolve(stored, `"by":"time"`);
  }

  /** Resolves the waits that the event matches. */
  resolveByEvent(envelope: Envelope): void {
    const byKey = this.#byEvent.get(envelope.type);
    if (byKey === undefined) return;
    const { key, id, body } = envelope;
    const matching = [...listOf(byKey.get(undefined)), ...(key === undefined ? [] : listOf(byKey.get(key)))];
    const resolution = `"by":"event","id":${JSON.stringify(id)},"payload":${body}`;
    for (const stored of matching) this.#resolve(stored, resolution);
  }

  /** Resolves the wait of a run for a child. @param end the status, and the result or the error, as JSON fields */
  resolveByRun(parent: Entry | undefined, key: string, childId: string, end: string): void {
    const stored = parent && findWait(parent, key);
    if (stored !== undefined) this.#resolve(stored, `"by":"run","id":${JSON.stringify(childId)},${end}`);
  }

  /** Drops the waits of a run that has ended, and returns them. */
  drop(entry: Entry): readonly StoredWait[] {
    const waits = waitsOf(entry);
    for (const stored of waits) this.#remove(stored);
    return waits;
  }

  #resolve(stored: StoredWait, resolution: string): void {
    const { wait, owner, entry, since } = stored;
    this.#remove(stored);
    const value = `{${resolution},"since":${since},"at":${this.#clock.now()}}`;
    entry.checkpoints?.set(wait.key, value);
    this.#journal.checkpoint(entry, wait.key, value);
    owner.recorded(entry, wait.key, value);
  }

  #remove(stored: StoredWait): void {
    const { wait, entry, owner } = stored;
    removeWait(entry, stored);
    this.#journal.wait(stored, false);
    owner.cancelTimer(stored);
    if (wait.isApproval === true) owner.approvals(stored)?.delete(stored);
    if (wait.event === undefined) return;
    const { type, key } = wait.event;
    const byKey = this.#byEvent.get(type);
    const waits = byKey?.get(key);
    if (waits instanceof Set) waits.delete(stored);
    if (waits === stored || (waits instanceof Set && waits.size === 0)) byKey?.delete(key);
    if (byKey?.size === 0) this.#byEvent.delete(type);
  }

  #addToEvent(type: string, key: string | undefined, stored: StoredWait): void {
    let byKey = this.#byEvent.get(type);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byEvent.set(type, byKey);
    }
    const waits = byKey.get(key);
    if (waits === undefined) byKey.set(key, stored);
    else if (waits instanceof Set) waits.add(stored);
    else byKey.set(key, new Set([waits, stored]));
  }
}

// Most runs have one open wait, and a Map takes more than the rest of it.
function waitsOf({ waits }: Entry): readonly StoredWait[] {
  if (waits === undefined) return [];
  return waits instanceof Map ? [...waits.values()] : [waits];
}

function findWait({ waits }: Entry, key: string): StoredWait | undefined {
  if (waits instanceof Map) return waits.get(key);
  return waits?.wait.key === key ? waits : undefined;
}

function addWait(entry: Entry, stored: StoredWait): void {
  const { waits } = entry;
  if (waits === undefined) entry.waits = stored;
  else if (waits instanceof Map) waits.set(stored.wait.key, stored);
  else entry.waits = new Map([waits, stored].map((each) => [each.wait.key, each]));
}

function removeWait(entry: Entry, stored: StoredWait): void {
  const { waits } = entry;
  if (waits instanceof Map) waits.delete(stored.wait.key);
  if (waits === stored || (waits instanceof Map && waits.size === 0)) entry.waits = undefined;
}

function listOf(waits: StoredWait | Set<StoredWait> | undefined): readonly StoredWait[] {
  if (waits === undefined) return [];
  return waits instanceof Set ? [...waits] : [waits];
}

/** Returns the open waits of a run as its record shows them. */
export function openWaits(entry: Entry): OpenWait[] {
  return toOpenWaits(waitsOf(entry));
}

/** Returns the waits that the record of an ended run retains, of those that were open. */
export function retainedWaits(waits: readonly StoredWait[]): readonly OpenWait[] {
  if (waits.length === 0) return noWaits;
  return toOpenWaits(waits)
    .sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1))
    .slice(0, keptWaits);
}

function toOpenWaits(waits: readonly StoredWait[]): OpenWait[] {
  return waits.map(({ wait: { key, delayMs, event, run, isApproval }, since }) => ({
    key,
    since,
    ...(delayMs !== undefined && { dueAt: since + delayMs }),
    ...(event !== undefined && { event }),
    ...(run !== undefined && { runId: run.id }),
    ...(isApproval === true && { isApproval }),
  }));
}
