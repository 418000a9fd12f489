import type { Clock } from '../clock.js';
import {
  type AwaitedEvent,
  type Envelope,
  type Outcome,
  type RunRetention,
  type RunWait,
  toRecorded,
} from '../delivery.js';
import type { OpenWait, RunRecord, RunStatus } from '../event-record.js';
import { latestRuns, retainedCompletedRuns, retainedFailedRuns, retainedRecent, retainedWaits } from '../limits.js';
import type { EndedRun, Entry, StoredWait, WaitOwner } from './entry.js';
import { Inbox, inboxKey, isOfStep } from './inbox.js';
import type { Journal } from './journal.js';

interface Run {
  readonly entry: Entry;
  readonly acceptedAt: number;
  ended: EndedRun | undefined;
  listeners: Set<(run: Run) => void> | undefined;
}

/** Runs of one type in one service: all that are pending, and those that ended and are retained. */
export class RunLog {
  retention: RunRetention = { completed: retainedCompletedRuns, failed: retainedFailedRuns };
  /** Open approvals, in no particular order. */
  readonly approvals: Set<StoredWait> = new Set();
  readonly #runs = new Map<string, Run>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #latest: Run[] = [];
  readonly #ended = { completed: new Set<Run>(), failed: new Set<Run>() };
  readonly #onChange: (entry: Entry, ended: EndedRun | undefined) => void;
  readonly #clock: Clock;
  readonly #journal: Pick<Journal, 'settleLater'>;
  #isEvicting = false;

  /** @param onChange receives the end of each run, and `undefined` for an ended run that is evicted */
  constructor(
    clock: Clock,
    journal: Pick<Journal, 'settleLater'>,
    onChange: (entry: Entry, ended: EndedRun | undefined) => void,
  ) {
    this.#clock = clock;
    this.#journal = journal;
    this.#onChange = onChange;
  }

  accept(entry: Entry): void {
    const run: Run = { entry, acceptedAt: entry.acceptedAt, ended: undefined, listeners: undefined };
    const { id, replays } = entry.envelope;
    if (replays > 0) this.#forget(id);
    this.#runs.set(id, run);
    // An event that was accepted before its type kept runs becomes one when it starts.
    const before = this.#latest.findLastIndex(({ acceptedAt }) => acceptedAt <= run.acceptedAt);
    this.#latest.splice(before + 1, 0, run);
    if (this.#latest.length > latestRuns) this.#latest.shift();
  }

  /** Records the end of a run with its open waits. Returns a function that notifies those who wait for it. */
  end(
    id: string,
    outcome: Extract<Outcome, { status: 'completed' | 'failed' }>,
    waits: readonly OpenWait[],
    now: number,
  ): () => void {
    const run = this.#runs.get(id);
    if (run === undefined) return () => {};
    const ended =
      outcome.status === 'completed'
        ? { at: now, result: outcome.result, error: undefined, waits }
        : { at: now, result: undefined, error: outcome.error, waits };
    this.#setEnd(run, ended);
    this.#onChange(run.entry, ended);
    this.#evictSoon();
    return () => {
      for (const listener of run.listeners ?? []) listener(run);
    };
  }

  /** Sets the end of an accepted run that was stored with its end. */
  restoreEnd(entry: Entry, ended: EndedRun): void {
    const run = this.#runs.get(entry.envelope.id);
    if (run?.entry === entry) this.#setEnd(run, ended);
  }

  #setEnd(run: Run, ended: EndedRun): void {
    run.ended = ended;
    run.entry.envelope.pack?.();
    this.#ended[ended.error === undefined ? 'completed' : 'failed'].add(run);
  }

  // Not in this turn of the event loop, in which those who started the runs may begin to wait for their ends.
  #evictSoon(): void {
    if (this.#isEvicting) return;
    this.#isEvicting = true;
    this.#clock.soon(() => {
      this.#isEvicting = false;
      this.#journal.settleLater(() => this.evict(this.#clock.now()));
    });
  }

  /** Forgets the ended runs that exceed the retention. */
  evict(now: number): void {
    const { ageMs = Number.POSITIVE_INFINITY } = this.retention;
    for (const status of ['completed', 'failed'] as const) {
      const runs = this.#ended[status];
      // In the order of their ends, so that those after the first one to keep are kept too.
      for (const run of runs) {
        if (runs.size <= this.retention[status] && now - (run.ended?.at ?? now) < ageMs) break;
        runs.delete(run);
        this.#forget(run.entry.envelope.id);
      }
    }
  }

  #forget(id: string): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    this.#runs.delete(id);
    if (run.ended !== undefined) this.#onChange(run.entry, undefined);
    this.#ended.completed.delete(run);
    this.#ended.failed.delete(run);
    const index = this.#latest.indexOf(run);
    if (index !== -1) this.#latest.splice(index, 1);
  }

  entry(id: string): Entry | undefined {
    return this.#runs.get(id)?.entry;
  }

  /** Entries of the runs that have not ended. */
  *pending(): Iterable<Entry> {
    for (const { entry } of this.#runs.values()) if (!entry.ended) yield entry;
  }

  record(id: string, service: string): RunRecord | undefined {
    const run = this.#runs.get(id);
    return run === undefined ? undefined : toRecord(run, service);
  }

  /** Records of the retained runs that match. */
  *records(service: string, matches: (envelope: Envelope) => boolean): Iterable<RunRecord> {
    for (const run of this.#runs.values()) if (matches(run.entry.envelope)) yield toRecord(run, service);
  }

  /** Records of the newest retained runs, and of the newest failed ones. */
  *recent(service: string): Iterable<RunRecord> {
    yield* this.latest(latestRuns, service);
    for (const run of [...this.#ended.failed].slice(-retainedRecent)) yield toRecord(run, service);
  }

  /** Removes input, result and entries of the ended runs of a request. Returns their number. */
  erase(requestId: string): number {
    let erased = 0;
    for (const { entry, ended } of this.#runs.values()) {
      if (ended === undefined || entry.envelope.requestId !== requestId) continue;
      entry.envelope = { ...entry.envelope, body: 'null' };
      entry.checkpoints?.clear();
      ended.result = undefined;
      ended.waits = [];
      if (entry.record !== undefined) entry.record.isErased = true;
      this.#onChange(entry, ended);
      erased += 1;
    }
    return erased;
  }

  /** Returns a run with its entries from a position on. */
  recordSince(id: string, service: string, from: number): RunRecord | undefined {
    const record = this.record(id, service);
    return record && { ...record, checkpoints: new Map([...record.checkpoints].slice(from)) };
  }

  /** Calls `onChange` after each {@link changed} of the run. Returns a function that ends this. */
  watch(id: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, watchers);
    // Wrapped, so that one function can watch twice.
    const watcher = (): void => onChange();
    watchers.add(watcher);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id);
    };
  }

  /** Notifies the watchers of a run, which has a new entry or wait. */
  changed(id: string): void {
    for (const watcher of this.#watchers.get(id) ?? []) watcher();
  }

  /** Returns the retained runs that were accepted last, newest first, at most `latestRuns`. */
  latest(limit: number, service: string): RunRecord[] {
    return this.#latest
      .slice(-limit)
      .reverse()
      .map((run) => toRecord(run, service));
  }

  /** Returns runs that wait: those with the oldest open approvals first, then suspended ones. */
  waiting(limit: number, suspended: number, service: string): RunRecord[] {
    const oldestFirst = [...this.approvals].sort((a, b) => a.since - b.since);
    const asking = new Set(oldestFirst.map(({ entry }) => entry));
    const found = new Set([...asking].slice(0, limit));
    let left = suspended;
    for (const { entry } of this.#runs.values()) {
      if (found.size >= limit || left === 0) break;
      if (!entry.isSuspended || entry.ended) continue;
      left -= 1;
      found.add(entry);
    }
    return [...found].flatMap(({ envelope: { id } }) => this.record(id, service) ?? []);
  }

  /** Resolves when the run has ended; with `undefined` if the run is unknown. */
  ended(id: string, service: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const known = this.#runs.get(id);
    if (known === undefined || known.ended !== undefined) return Promise.resolve(this.record(id, service));
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const stop = (): void => {
        known.listeners?.delete(listener);
        signal.removeEventListener('abort', abort);
      };
      // Receives the run itself: the log may have evicted it before the promise's callbacks run.
      const listener = (run: Run): void => {
        stop();
        resolve(toRecord(run, service));
      };
      const abort = (): void => {
        stop();
        reject(signal.reason);
      };
      known.listeners ??= new Set();
      known.listeners.add(listener);
      signal.addEventListener('abort', abort);
    });
  }
}

function toRecord({ entry, acceptedAt, ended }: Run, service: string): RunRecord {
  const { envelope, attempt, checkpoints, attempts, neededVersion } = entry;
  return {
    id: envelope.id,
    service,
    envelope: toRecorded(envelope),
    acceptedAt,
    attempt,
    status: ended === undefined ? statusOf(entry) : ended.error === undefined ? 'completed' : 'failed',
    checkpoints: new Map(checkpoints),
    neededVersion: ended === undefined && statusOf(entry) === 'waiting' ? neededVersion : undefined,
    waits: ended?.waits ?? openWaits(entry),
    ...(entry.inbox !== undefined && { inbox: entry.inbox.record }),
    interruptions: attempts,
    endedAt: ended?.at,
    result: ended?.result,
    error: ended?.error,
  };
}

function statusOf({ lease, isSuspended }: Entry): RunStatus {
  if (lease !== undefined) return 'active';
  return isSuspended ? 'suspended' : 'waiting';
}

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
    this.#store(stored);
    return stored;
  }

  /** Keeps the events of an accepted run that it is to receive, until its waits take them. */
  keepEvents(entry: Entry, owner: WaitOwner): void {
    const { receives = [] } = entry.envelope;
    // The service does not handle the type yet, and so keeps no runs.
    if (receives.length === 0 || entry.checkpoints === undefined) return;
    const wait = { key: inboxKey, inbox: { receives, dropped: 0 } };
    this.#store({ wait, owner, entry, since: this.#clock.now(), timer: undefined });
  }

  #store(stored: StoredWait): void {
    this.restore(stored);
    this.#journal.wait(stored, true);
  }

  /** Adds a wait that is stored already. */
  restore(stored: StoredWait): void {
    const { entry, wait } = stored;
    addWait(entry, stored);
    if (wait.inbox !== undefined) entry.inbox = new Inbox(stored, wait.inbox);
    if (wait.kept !== undefined) entry.inbox?.add(stored);
    for (const { type, key } of eventsOf(stored)) this.#addToEvent(type, key, stored);
    if (wait.isApproval === true) stored.owner.approvals(stored)?.add(stored);
  }

  resolveByTime(stored: StoredWait): void {
    // Another condition may have resolved it since it was due.
    if (findWait(stored.entry, stored.wait.key) === stored) this.#resolve(stored, `"by":"time"`);
  }

  /** Resolves the waits that the event matches. Returns `true` if there are any. */
  resolveByEvent(envelope: Envelope): boolean {
    const byKey = this.#byEvent.get(envelope.type);
    if (byKey === undefined) return false;
    const { key, id, body } = envelope;
    const matching = [...listOf(byKey.get(undefined)), ...(key === undefined ? [] : listOf(byKey.get(key)))];
    const inboxes = inboxesOf(matching);
    const resolution = `"by":"event","id":${JSON.stringify(id)},"payload":${body}`;
    for (const stored of matching.filter(isOfStep)) if (!inboxes.has(stored.entry)) this.#resolve(stored, resolution);
    for (const [entry, inbox] of inboxes) {
      // One of the waits takes the event.
      const [first] = matching.filter((stored) => stored.entry === entry && isOfStep(stored)).sort(bySince);
      if (first === undefined) this.#keep(inbox, envelope);
      else this.#resolve(first, resolution);
    }
    return matching.length > 0;
  }

  #keep(inbox: Inbox<StoredWait>, envelope: Envelope): void {
    const { owner, entry } = inbox.stored;
    this.#store({ wait: inbox.next(envelope), owner, entry, since: this.#clock.now(), timer: undefined });
    for (let excess = inbox.excess; excess !== undefined; excess = inbox.excess) {
      this.#remove(excess);
      this.#journal.wait({ ...inbox.stored, wait: inbox.drop() }, true);
    }
  }

  /** Resolves a new wait by the oldest event that its run has kept for it. */
  resolveByKept(stored: StoredWait): void {
    const { entry, wait } = stored;
    const found = wait.event && entry.inbox?.find(wait.event);
    const kept = found?.wait.kept;
    if (found === undefined || kept === undefined) return;
    this.#remove(found);
    this.#resolve(stored, `"by":"event","id":${JSON.stringify(kept.id)},"payload":${kept.body}`);
  }

  /** Removes the kept events of a request. */
  eraseKept({ inbox }: Entry, requestId: string): void {
    for (const stored of [...(inbox?.kept ?? [])]) if (stored.wait.kept?.requestId === requestId) this.#remove(stored);
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
    if (wait.kept !== undefined) entry.inbox?.remove(stored);
    if (wait.inbox !== undefined) entry.inbox = undefined;
    for (const { type, key } of eventsOf(stored)) this.#removeFromEvent(type, key, stored);
  }

  #removeFromEvent(type: string, key: string | undefined, stored: StoredWait): void {
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

const noEvents: readonly AwaitedEvent[] = [];

/** Returns the events that a condition matches. */
function eventsOf({ wait: { event, inbox } }: StoredWait): readonly AwaitedEvent[] {
  if (inbox !== undefined) return inbox.receives;
  return event === undefined ? noEvents : [event];
}

/** Returns the inboxes among waits that an event matches, each once. */
function inboxesOf(matching: readonly StoredWait[]): ReadonlyMap<Entry, Inbox<StoredWait>> {
  const found = new Map<Entry, Inbox<StoredWait>>();
  for (const { entry, wait } of matching) {
    if (wait.inbox !== undefined && entry.inbox !== undefined) found.set(entry, entry.inbox);
  }
  return found;
}

function bySince(a: StoredWait, b: StoredWait): number {
  return a.since - b.since || (a.wait.key < b.wait.key ? -1 : 1);
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
function openWaits(entry: Entry): OpenWait[] {
  return toOpenWaits(waitsOf(entry));
}

/** Returns the waits that the record of an ended run retains, of those that were open. */
export function oldestWaits(waits: readonly StoredWait[]): readonly OpenWait[] {
  if (waits.length === 0) return noWaits;
  return toOpenWaits(waits)
    .sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1))
    .slice(0, retainedWaits);
}

function toOpenWaits(waits: readonly StoredWait[]): OpenWait[] {
  return waits.filter(isOfStep).map(({ wait: { key, delayMs, event, run, isApproval }, since }) => ({
    key,
    since,
    ...(delayMs !== undefined && { dueAt: since + delayMs }),
    ...(event !== undefined && { event }),
    ...(run !== undefined && { runId: run.id }),
    ...(isApproval === true && { isApproval }),
  }));
}
