import type { Clock } from '../clock.js';
import type { AwaitedEvent, CommitResult, Envelope, Offer, RunWait, Verdict } from '../delivery.js';
import type { OpenWait } from '../event-record.js';
import { minuteMs, retainedWaits } from '../limits.js';
import type { Entry, StoredWait, WaitOwner } from './entry.js';
import { cancelKey, Inbox, inboxKey, isOfStep, type KeptEvent, matchesEvent } from './inbox.js';
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
    // A run that receives nothing keeps events for this wait alone.
    if (wait.isJudged === true && entry.inbox === undefined) this.#openInbox(entry, owner);
    this.#store(stored);
    return stored;
  }

  /** Keeps the events of an accepted run that it is to receive, until its waits take them. */
  keepEvents(entry: Entry, owner: WaitOwner): void {
    const { receives = [], cancelOn = [] } = entry.envelope;
    // The service does not handle the type yet, and so keeps no runs.
    if (receives.length + cancelOn.length === 0 || entry.checkpoints === undefined) return;
    this.#openInbox(entry, owner, receives, cancelOn);
  }

  #openInbox(
    entry: Entry,
    owner: WaitOwner,
    receives: Envelope['receives'] = [],
    cancelOn: Envelope['cancelOn'] = [],
  ): void {
    const wait = { key: inboxKey, inbox: { receives, cancelOn, dropped: 0 } };
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
    if (findWait(stored.entry, stored.wait.key) !== stored) return;
    this.#resolve(stored, `"by":"time"`);
    this.settle(stored.entry);
  }

  /** Resolves the waits that the event matches, or keeps it for their runs. Returns `true` if a run received it. */
  resolveByEvent(envelope: Envelope): boolean {
    const byKey = this.#byEvent.get(envelope.type);
    if (byKey === undefined) return false;
    const { key } = envelope;
    const matching = [...listOf(byKey.get(undefined)), ...(key === undefined ? [] : listOf(byKey.get(key)))];
    const resolution = eventResolution(envelope);
    for (const [entry, conditions] of byEntry(matching)) {
      const waits = conditions.filter(isOfStep);
      const judged = waits.filter(({ wait }) => wait.isJudged === true);
      const { inbox } = entry;
      const isReceived = inbox?.receivesEvent(envelope) === true;
      if (!isReceived) for (const stored of waits) if (!judged.includes(stored)) this.#resolve(stored, resolution);
      if (inbox === undefined || (!isReceived && waits.length === conditions.length && judged.length === 0)) continue;
      const [first] = waits.sort(bySince);
      const isPlain = judged.length === 0 && !inbox.cancelOn.some((reason) => matchesEvent(reason, envelope));
      // One of the waits takes what the run receives.
      if (isPlain && first !== undefined) this.#resolve(first, resolution);
      else this.#keep(inbox, envelope, judged);
    }
    return matching.length > 0;
  }

  #keep(inbox: Inbox<StoredWait>, envelope: Envelope, judged: readonly StoredWait[]): void {
    const { owner, entry } = inbox.stored;
    const keys = judged.map(({ wait }) => wait.key);
    this.#store({ wait: inbox.next(envelope, keys), owner, entry, since: this.#clock.now(), timer: undefined });
    for (let excess = inbox.excess; excess !== undefined; excess = inbox.excess) {
      this.#remove(excess);
      this.#journal.wait({ ...inbox.stored, wait: inbox.drop() }, true);
      this.#reportDropped(inbox, excess);
    }
    this.settle(entry);
  }

  #reportDropped(inbox: Inbox<StoredWait>, { entry, owner, wait: { kept } }: StoredWait): void {
    const now = this.#clock.monotonic();
    if (kept === undefined || now - inbox.reportedAt < minuteMs) return;
    const { type: runType, id: runId } = entry.envelope;
    const { dropped } = inbox.record;
    if (owner.dropped({ runType, runId, eventType: kept.type, dropped })) inbox.reportedAt = now;
  }

  /** Passes the events that a run has kept to its waits, and offers those about which its service decides. */
  settle(entry: Entry): void {
    const { inbox } = entry;
    if (inbox === undefined || inbox.kept.length === 0) return;
    let waits = eventWaitsOf(entry);
    for (const stored of [...inbox.kept]) {
      const { kept } = stored.wait;
      // A wait that is judged decides about one event at a time: what it may take comes later.
      const [first] = kept?.waits === undefined && kept?.isTaken === false ? takersOf(waits, kept) : [];
      if (kept !== undefined && first !== undefined && first.wait.isJudged !== true) {
        this.#resolve(first, eventResolution(kept));
        kept.isTaken = true;
        this.#journal.wait(stored, true);
        waits = eventWaitsOf(entry);
      }
      if (kept !== undefined && isOver(waits, inbox, kept)) this.#remove(stored);
    }
    if (offersOf(entry).length > 0) inbox.stored.owner.offered(entry);
  }

  /** Records the verdict on an offer. */
  decide(entry: Entry, { kept: name, wait: key, type }: Offer, verdict: Verdict): CommitResult {
    const stored = entry.inbox?.find(name);
    const kept = stored?.wait.kept;
    const wait = key === undefined ? undefined : findWait(entry, key);
    const isOpen = kept !== undefined && (key === undefined || wait !== undefined);
    if (stored !== undefined && isOpen) {
      if (verdict.status === 'failed' && wait !== undefined) {
        this.#conclude(wait, verdict.entry);
      } else if (verdict.status === 'taken' && wait !== undefined) {
        this.#resolve(wait, eventResolution(kept));
        if (kept.waits === undefined) kept.isTaken = true;
      }
      kept.refusedBy.push(key ?? cancelKey(type));
      this.#journal.wait(stored, true);
    }
    this.settle(entry);
    return isOpen ? 'ok' : 'already';
  }

  /** Removes the kept events of a request. */
  eraseKept(entry: Entry, requestId: string): void {
    const kept = entry.inbox?.kept ?? [];
    for (const stored of [...kept]) if (stored.wait.kept?.requestId === requestId) this.#remove(stored);
    this.settle(entry);
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
    this.#conclude(stored, `{${resolution},"since":${stored.since},"at":${this.#clock.now()}}`);
  }

  #conclude(stored: StoredWait, value: string): void {
    const { wait, owner, entry } = stored;
    this.#remove(stored);
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
  if (inbox !== undefined) return [...inbox.receives, ...inbox.cancelOn];
  return event === undefined ? noEvents : [event];
}

/** Returns the conditions of each run among those that an event matches, each condition once. */
function byEntry(matching: readonly StoredWait[]): ReadonlyMap<Entry, StoredWait[]> {
  const found = new Map<Entry, StoredWait[]>();
  for (const stored of new Set(matching)) {
    const conditions = found.get(stored.entry);
    if (conditions === undefined) found.set(stored.entry, [stored]);
    else conditions.push(stored);
  }
  return found;
}

function eventResolution({ id, body }: Pick<Envelope, 'id' | 'body'>): string {
  return `"by":"event","id":${JSON.stringify(id)},"payload":${body}`;
}

/** Returns the open waits for events, the oldest first. */
function eventWaitsOf(entry: Entry): readonly StoredWait[] {
  return waitsOf(entry)
    .filter(({ wait }) => wait.event !== undefined)
    .sort(bySince);
}

/** Returns the waits that may take a kept event, in their order. */
function takersOf(waits: readonly StoredWait[], kept: KeptEvent): readonly StoredWait[] {
  if (kept.isTaken) return [];
  return waits.filter(({ wait: { key, event, isJudged } }) => {
    if (event === undefined || !matchesEvent(event, kept) || kept.refusedBy.includes(key)) return false;
    return kept.waits === undefined || (isJudged === true && kept.waits.includes(key));
  });
}

function reasonsOf({ cancelOn }: Inbox<StoredWait>, kept: KeptEvent): Inbox<StoredWait>['cancelOn'] {
  return cancelOn.filter((reason) => matchesEvent(reason, kept) && !kept.refusedBy.includes(cancelKey(reason.type)));
}

/** Nothing takes the kept event any more. */
function isOver(waits: readonly StoredWait[], inbox: Inbox<StoredWait>, kept: KeptEvent): boolean {
  if (reasonsOf(inbox, kept).length > 0) return false;
  return kept.isTaken || (kept.waits !== undefined && takersOf(waits, kept).length === 0);
}

/** Returns the kept events about which the service of a run decides: per wait the first one. */
export function offersOf(entry: Entry): readonly Offer[] {
  const { inbox } = entry;
  const offers: Offer[] = [];
  if (inbox === undefined || inbox.kept.length === 0) return offers;
  const waits = eventWaitsOf(entry);
  const asked = new Set<string>();
  const offer = (condition: string, stored: StoredWait, fields: Pick<Offer, 'wait' | 'isJudged'>): void => {
    const { kept } = stored.wait;
    if (kept === undefined || asked.has(condition)) return;
    asked.add(condition);
    const { id, type, body } = kept;
    offers.push({ ...fields, kept: stored.wait.key, id, type, body });
  };
  const conditions = inbox.cancelOn.length + waits.filter(({ wait }) => wait.isJudged === true).length;
  for (const stored of inbox.kept) {
    const { kept } = stored.wait;
    if (kept === undefined) continue;
    if (asked.size === conditions) break;
    for (const { type, isJudged = false } of reasonsOf(inbox, kept)) {
      offer(cancelKey(type), stored, { wait: undefined, isJudged });
    }
    const takers = takersOf(waits, kept);
    const deciding = kept.waits === undefined ? takers.slice(0, 1) : takers;
    for (const { wait } of deciding) {
      if (wait.isJudged === true) offer(wait.key, stored, { wait: wait.key, isJudged: true });
    }
  }
  return offers;
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
export function openWaits(entry: Entry): OpenWait[] {
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
