import type { Clock } from '../clock.js';
import { type Envelope, type Outcome, type RunRetention, toRecorded } from '../delivery.js';
import type { OpenWait, RunRecord, RunStatus } from '../event-record.js';
import { latestRuns, retainedCompletedRuns, retainedFailedRuns, retainedRecent } from '../limits.js';
import { runLogs } from '../stored-keys.js';
import type { EndedRun, Entry, StoredWait } from './entry.js';
import type { Journal } from './journal.js';
import { openWaits } from './run-waits.js';

interface Run {
  readonly entry: Entry;
  readonly place: Place;
  ended: EndedRun | undefined;
  listeners: Set<(run: Run) => void> | undefined;
}

/** Place in a list from the latest time on. */
export interface Place {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly id: string;
}

/** Returns the items after a place in the order of places, at most `limit`. */
export function pageOf<T extends Place>(items: readonly T[], limit: number, after: Place | undefined): readonly T[] {
  const rest = after === undefined ? [...items] : items.filter((item) => comparePlaces(item, after) > 0);
  return rest.sort(comparePlaces).slice(0, limit);
}

function comparePlaces(one: Place, other: Place): number {
  return other.at - one.at || (one.id < other.id ? -1 : Number(one.id > other.id));
}

/** Runs of one type in one service: all that are pending, and those that ended and are retained. */
export class RunLog {
  retention: RunRetention = { completed: retainedCompletedRuns, failed: retainedFailedRuns };
  /** Open approvals, in no particular order. */
  readonly approvals: Set<StoredWait> = new Set();
  readonly #runs = new Map<string, Run>();
  readonly #watchers = new Map<string, Set<() => void>>();
  /** Places of the runs, oldest first, and of some that were forgotten, at most about as many. */
  #places: Place[] = [];
  #isSorted = true;
  readonly #ended = { completed: new Set<Run>(), failed: new Set<Run>() };
  readonly #onChange: (entry: Entry, ended: EndedRun | undefined) => void;
  readonly #clock: Clock;
  readonly #journal: Pick<Journal, 'settleLater' | 'dropLog'>;
  readonly #service: string;
  #isEvicting = false;

  /** @param onChange receives the end of each run, and `undefined` for an ended run that is evicted */
  constructor(
    service: string,
    clock: Clock,
    journal: Pick<Journal, 'settleLater' | 'dropLog'>,
    onChange: (entry: Entry, ended: EndedRun | undefined) => void,
  ) {
    this.#service = service;
    this.#clock = clock;
    this.#journal = journal;
    this.#onChange = onChange;
  }

  accept(entry: Entry): void {
    const { id, replays } = entry.envelope;
    const place = { at: entry.acceptedAt, id };
    if (replays > 0) this.#forget(id);
    this.#runs.set(id, { entry, place, ended: undefined, listeners: undefined });
    // An event that was accepted before its type kept runs becomes one when it starts.
    if (place.at < (this.#places.at(-1)?.at ?? 0)) this.#isSorted = false;
    this.#places.push(place);
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
    if (outcome.status === 'completed' && outcome.filtered === true) {
      run.ended = ended;
      this.#forget(id);
    } else {
      this.#setEnd(run, ended);
      this.#onChange(run.entry, ended);
      this.#evictSoon();
    }
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
        this.#dropLogs(run.entry.envelope.id);
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
    // Seldom enough that it costs little per run.
    if (this.#places.length > 2 * this.#runs.size + latestRuns) {
      this.#places = this.#places.filter((place) => this.#runs.get(place.id)?.place === place);
    }
  }

  /** Returns the retained runs, newest first by acceptance, from those that were accepted at a time. */
  *#newestFirst(from = Number.POSITIVE_INFINITY): Iterable<Run> {
    if (!this.#isSorted) this.#places.sort((a, b) => a.at - b.at);
    this.#isSorted = true;
    const places = this.#places;
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((places[middle]?.at ?? 0) <= from) low = middle + 1;
      else high = middle;
    }
    for (let index = low - 1; index >= 0; index -= 1) {
      const place = places[index];
      const run = place && this.#runs.get(place.id);
      if (run !== undefined && run.place === place) yield run;
    }
  }

  #dropLogs(id: string): void {
    for (const log of runLogs(this.#service, id)) this.#journal.dropLog(log);
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

  /** Records of the retained runs after a place, newest first by acceptance, at most `limit`. */
  *page(limit: number, after: Place | undefined, service: string): Iterable<RunRecord> {
    const places: Place[] = [];
    for (const { place } of this.#newestFirst(after?.at)) {
      // Those of one time follow in the order of their ids.
      if (places.length >= limit && place.at !== places.at(-1)?.at) break;
      if (after === undefined || comparePlaces(place, after) > 0) places.push(place);
    }
    for (const { id } of pageOf(places, limit, undefined)) {
      const run = this.#runs.get(id);
      if (run !== undefined) yield toRecord(run, service);
    }
  }

  has(id: string): boolean {
    return this.#runs.has(id);
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
      this.#dropLogs(entry.envelope.id);
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
    const records: RunRecord[] = [];
    for (const run of this.#newestFirst()) {
      if (records.length >= Math.min(limit, latestRuns)) break;
      records.push(toRecord(run, service));
    }
    return records;
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

function toRecord({ entry, place, ended }: Run, service: string): RunRecord {
  const { envelope, attempt, checkpoints, attempts, neededVersion } = entry;
  return {
    id: envelope.id,
    service,
    envelope: toRecorded(envelope),
    acceptedAt: place.at,
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
