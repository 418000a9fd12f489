import { quote } from '../../errors.js';
import type { Clock } from '../clock.js';
import { type DeclaredEvent, type Envelope, type FailedOutcome, type Subscription, sizeOf } from '../delivery.js';
import { triggeredId } from '../derived-ids.js';
import { BackpressureError, replacedInfo } from '../errors.js';
import type { Receipt } from '../transport.js';
import { BrokerStatistics } from './broker-statistics.js';
import { Connections } from './connections.js';
import { ConsumerGroup, type GroupHost } from './consumer-group.js';
import { DedupeWindow, overlapIds, type RememberedId } from './dedupe-window.js';
import type { LeasedDelivery } from './dispatcher.js';
import { type Entry, RecentEntries } from './entry.js';
import { type Journal, noJournal } from './journal.js';
import { Lookup } from './lookup.js';
import { RunWaits } from './run-waits.js';
import { ScheduleTable } from './schedule-table.js';
import { StoredSchedules } from './stored-schedules.js';
import { TurnBudget } from './turn-budget.js';
import type { DeadLetterLimits } from './type-queue.js';
import { RevisionCounter } from './type-stats.js';

const maxDedupeIdsPerType = 1_000_000;

/** State that all connections to one memory transport, or to one SQLite file, share. */
export class Broker implements GroupHost {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly deadLetterLimits: DeadLetterLimits;
  readonly revision: RevisionCounter = new RevisionCounter();
  readonly waits: RunWaits;
  readonly recent: RecentEntries = new RecentEntries();
  /** Makes callers yield. */
  readonly turns: TurnBudget;
  readonly pending: PendingLimits;
  readonly #groups = new Map<string, ConsumerGroup>();
  readonly lookup: Lookup;
  readonly statistics: BrokerStatistics;
  readonly routes: Routes = new Routes();
  readonly #dedupe = new Map<string, DedupeWindow>();
  readonly schedules: ScheduleTable;
  readonly storedSchedules: StoredSchedules;
  readonly connections: Connections;

  constructor(clock: Clock, maximum: PendingMaximum & DeadLetterLimits, journal: Journal = noJournal) {
    this.clock = clock;
    this.journal = journal;
    this.connections = new Connections(clock, this.revision, (service) => this.isSubscribed(service));
    this.waits = new RunWaits(clock, journal);
    this.turns = new TurnBudget(clock);
    this.statistics = new BrokerStatistics(this.#groups, this);
    this.pending = new PendingLimits(maximum);
    this.deadLetterLimits = maximum;
    this.schedules = new ScheduleTable(clock, this.revision, journal);
    this.storedSchedules = new StoredSchedules(clock, this.revision, journal);
    this.lookup = new Lookup(this.#groups, this);
  }

  /** Returns the deliveries of all groups that are running. */
  running(): readonly LeasedDelivery[] {
    return [...this.#groups.values()].flatMap((group) => group.running());
  }

  group(service: string): ConsumerGroup {
    let group = this.#groups.get(service);
    if (group === undefined) {
      group = new ConsumerGroup(service, this);
      this.#groups.set(service, group);
    }
    return group;
  }

  /** Returns the group of a service; `undefined` if it never subscribed or published. */
  findGroup(service: string): ConsumerGroup | undefined {
    return this.#groups.get(service);
  }

  /** Keeps the events of these types for the group, and those of declared types for their subscribers. */
  subscribe(group: ConsumerGroup, subscriptions: readonly Subscription[], declared: readonly DeclaredEvent[]): void {
    for (const { type } of subscriptions) this.#addRoute(type, group);
    for (const { type, subscribers } of declared) {
      for (const service of subscribers) {
        // A service whose workflows alone receive the type needs no copies.
        if (!this.routes.isTrigger(type, this.group(service))) this.#addRoute(type, this.group(service));
      }
    }
    this.revision.increment();
  }

  /**
   * Starts the runs of the events that were kept for a service before it subscribed to their type. If it does not handle
   * the type, these events end, and no further copies are kept.
   */
  feedTriggers(group: ConsumerGroup, subscriptions: readonly Subscription[]): void {
    const now = this.clock.now();
    for (const trigger of new Set(subscriptions.flatMap((each) => each.triggers ?? []))) {
      if (this.routes.find(trigger)?.handlers.has(group) !== true) continue;
      const queue = group.queues.of(trigger);
      if (queue.subscription !== undefined) continue;
      const triggered = subscriptions.filter((each) => each.triggers?.includes(trigger) === true);
      for (const subscription of triggered) group.members.apply(subscription);
      const isHandled = subscriptions.some(({ type }) => type === trigger);
      for (const entry of queue.reader.newest(Number.MAX_SAFE_INTEGER).toReversed()) {
        const { envelope, dueAt = 0 } = entry;
        const delayMs = Math.max(0, dueAt - this.clock.monotonic());
        const kept = { ...envelope, body: envelope.body, delayMs };
        for (const { type } of triggered) this.#acceptTriggered(kept, { group, type }, now);
        if (!isHandled) group.completeUnhandled(entry);
      }
      if (!isHandled) this.removeRoute(trigger, group);
    }
  }

  #addRoute(type: string, group: ConsumerGroup): void {
    this.routes.addHandler(type, group);
    this.journal.route(type, group.service, true);
  }

  /** Services that receive events. */
  get subscribedServices(): readonly string[] {
    return [...this.#groups.keys()].filter((service) => this.isSubscribed(service));
  }

  /** Ends the events of a type for a group. */
  removeRoute(type: string, group: ConsumerGroup): void {
    this.routes.remove(type, group);
    this.journal.route(type, group.service, false);
    this.revision.increment();
  }

  /** Adds a stored route. */
  restoreRoute(type: string, service: string): void {
    this.routes.addHandler(type, this.group(service));
  }

  /** Adds a stored deduplication id. */
  restoreDedupe(type: string, dedupeId: string, eventId: string, until: number): void {
    this.#dedupeWindow(type).restore(dedupeId, eventId, until);
  }

  /** Returns the event that an id in use stands for. @param type type of the event, or that of `overlapIds` */
  rememberedId(type: string, id: string): RememberedId | undefined {
    return this.#dedupe.get(type)?.known(id);
  }

  /** Returns the ids in use that stand for a stored event. */
  remembered(envelope: Envelope): RememberedId | undefined {
    return link(rememberedIdsOf(envelope), ({ type, id, overlap }) => {
      const known = this.rememberedId(type, id);
      if (overlap !== undefined) known?.add(envelope.id);
      return overlap !== undefined || known?.eventId === envelope.id ? known : undefined;
    });
  }

  /** Returns `true` if the service receives events. */
  isSubscribed(service: string): boolean {
    const group = this.#groups.get(service);
    return group !== undefined && this.routes.typesOf(group).size > 0;
  }

  publish(envelopes: readonly Envelope[], from: ConsumerGroup): readonly Receipt[] {
    const now = this.clock.now();
    this.#checkCapacity(envelopes, now);
    return envelopes.map((envelope) => this.#publishOne(envelope, from, now));
  }

  /** Follow-ups are accepted even past `maxPending`: the outcome is already recorded. */
  recordEnd({ bytes, remembered }: Entry, followUps: readonly Envelope[], from: ConsumerGroup): void {
    this.pending.remove(bytes);
    remembered?.release();
    this.acceptEmits(followUps, from);
  }

  acceptEmits(envelopes: readonly Envelope[], from: ConsumerGroup): void {
    if (envelopes.length === 0) return;
    const now = this.clock.now();
    for (const envelope of envelopes) this.#publishOne(envelope, from, now);
  }

  acceptChild(envelope: Envelope, group: ConsumerGroup): void {
    const bytes = sizeOf(envelope);
    this.pending.add(bytes);
    // It overlaps with no other run.
    const child = envelope.overlap === undefined ? envelope : { ...envelope, body: envelope.body, overlap: undefined };
    group.accept(child, bytes, this.clock.now());
  }

  /** Accepts the event of a dead letter of the group again; `false` if there is no such dead letter. */
  replay(id: string, group: ConsumerGroup): boolean {
    const dead = group.findDeadLetter(id);
    if (dead === undefined) return false;
    this.pending.checkRoom(1, dead.bytes);
    this.pending.add(dead.bytes);
    const now = this.clock.now();
    const remembered = this.#rememberAgain(dead.envelope, now);
    remembered?.hold();
    group.replay(id, now, remembered);
    return true;
  }

  /** Throws unless all envelopes fit, so that a call accepts all of them or none. */
  #checkCapacity(envelopes: readonly Envelope[], now: number): void {
    let events = 0;
    let bytes = 0;
    for (const envelope of envelopes) {
      if (this.#findDuplicate(envelope, now) !== undefined) continue;
      const copies = this.#copiesOf(envelope);
      events += copies;
      bytes += copies * sizeOf(envelope);
      for (const { type } of rememberedIdsOf(envelope)) {
        if (this.#dedupeWindow(type).hasRoom(envelopes.length, now)) continue;
        throw new BackpressureError(`deduplication ids of ${quote(envelope.type)}`, `${maxDedupeIdsPerType}`);
      }
    }
    this.pending.checkRoom(events, bytes);
  }

  /** Returns the number of events that the services of the type would accept. */
  #copiesOf(envelope: Envelope): number {
    if (envelope.service !== undefined) return 1;
    const route = this.routes.find(envelope.type);
    if (route === undefined) return 0;
    let copies = route.triggers.size;
    for (const group of route.handlers) if (!group.debounces(envelope)) copies += 1;
    return copies;
  }

  #publishOne(envelope: Envelope, from: ConsumerGroup, now: number): Receipt {
    // Checked again: an earlier envelope of the same call may have the same id.
    const earlierId = this.#findDuplicate(envelope, now);
    const route = this.#routeOf(envelope);
    if (earlierId !== undefined) {
      const handlers = route?.handlers;
      for (const group of handlers === undefined || handlers.size === 0 ? [from] : handlers)
        group.queues.of(envelope.type).stats.countDeduplicated();
      return { id: earlierId, deduplicated: true };
    }
    if (envelope.overlap === 'replace') this.#cancelReplaced(envelope);
    const { id } = envelope;
    const isRouted = route !== undefined && route.handlers.size + route.triggers.size > 0;
    const isReceived = (envelope.recorded === undefined && this.waits.resolveByEvent(envelope)) || isRouted;
    // An event that nobody received may be repeated: its services may start later.
    const remembered = isReceived ? this.#remember(envelope, now) : undefined;
    // Stored envelopes do not name the service that stored them.
    const accepted =
      envelope.service === undefined ? envelope : { ...envelope, body: envelope.body, service: undefined };
    const waitingId = this.#accept(accepted, route, from, now, remembered);
    if (waitingId !== undefined) return { id: waitingId, deduplicated: true };
    return isReceived ? { id, deduplicated: false } : { id, deduplicated: false, unsubscribed: true };
  }

  /** Cancels the events that overlap with one that replaces them, in all services. */
  #cancelReplaced({ type, key, overlap }: Envelope): void {
    const error = replacedInfo(type);
    const outcome: FailedOutcome = { status: 'failed', cancelled: true, durationMs: 0, error, followUps: [] };
    for (const { type: ids, id } of rememberedIdsOf({ type, dedupe: undefined, overlap, key })) {
      for (const eventId of this.rememberedId(ids, id)?.eventIds ?? []) {
        for (const group of this.#groups.values()) group.endPending(type, eventId, outcome);
      }
    }
  }

  /** Returns the groups that receive an event. */
  #routeOf({ type, service }: Envelope): Route | undefined {
    if (service === undefined) return this.routes.find(type);
    const group = this.group(service);
    if (group.queues.find(type)?.runs === undefined) {
      // Its first process has yet to start.
      group.members.apply({ type, retainsRuns: true });
      this.#addRoute(type, group);
    }
    return { handlers: new Set([group]), triggers: noTriggers };
  }

  /** Returns the id of the waiting event if every group debounced the event. */
  #accept(
    envelope: Envelope,
    route: Route | undefined,
    from: ConsumerGroup,
    now: number,
    remembered: RememberedId | undefined,
  ): string | undefined {
    if (route === undefined || route.handlers.size === 0) {
      const { stats } = from.queues.of(envelope.type);
      stats.countReceived(now);
      stats.countCompleted(now);
    }
    if (route === undefined) return undefined;
    const bytes = sizeOf(envelope);
    let isAccepted = route.triggers.size > 0;
    let waitingId: string | undefined;
    for (const group of route.handlers) {
      const debouncedBy = group.accept(envelope, bytes, now, remembered);
      if (debouncedBy === undefined) {
        this.pending.add(bytes);
        remembered?.hold();
        isAccepted = true;
      } else {
        waitingId ??= debouncedBy;
      }
    }
    for (const triggered of route.triggers.values()) this.#acceptTriggered(envelope, triggered, now);
    return isAccepted ? undefined : waitingId;
  }

  #acceptTriggered(envelope: Envelope, { group, type }: TriggeredType, now: number): void {
    const { id: causeId, depth } = envelope;
    const bytes = sizeOf(envelope);
    const id = triggeredId(group.service, causeId, type, envelope.type);
    const triggered = { id, type, depth: depth + 1, dedupe: undefined, overlap: undefined, causeId };
    this.pending.add(bytes);
    group.accept({ ...envelope, body: envelope.body, ...triggered }, bytes, now);
  }

  #findDuplicate(envelope: Envelope, now: number): string | undefined {
    for (const { type, id, overlap } of rememberedIdsOf(envelope)) {
      const earlierId = overlap === 'replace' ? undefined : this.#dedupeWindow(type).find(id, now);
      if (earlierId !== undefined) return earlierId;
    }
    return undefined;
  }

  #remember(envelope: Envelope, now: number): RememberedId | undefined {
    return link(rememberedIdsOf(envelope), ({ type, id, windowMs }) =>
      this.#dedupeWindow(type).remember(id, envelope.id, now + windowMs),
    );
  }

  /** Remembers the key of an event that is replayed; one that is in use stands for the event that has it as well. */
  #rememberAgain({ id: eventId, type, overlap, key }: Envelope, now: number): RememberedId | undefined {
    return link(rememberedIdsOf({ type, dedupe: undefined, overlap, key }), ({ type, id }) => {
      const window = this.#dedupeWindow(type);
      if (window.find(id, now) === undefined) return window.remember(id, eventId, now);
      const known = window.known(id);
      known?.add(eventId);
      return known;
    });
  }

  #dedupeWindow(type: string): DedupeWindow {
    let window = this.#dedupe.get(type);
    if (window === undefined) {
      window = new DedupeWindow(maxDedupeIdsPerType, (id, remembered) => this.journal.dedupe(type, id, remembered));
      this.#dedupe.set(type, window);
    }
    return window;
  }
}

/** Id by which a later event is found to be a duplicate. */
interface DuplicateId {
  /** Type of the event, or that of `overlapIds`. */
  readonly type: string;
  readonly id: string;
  readonly windowMs: number;
  /** Present if the id is the key of the event. */
  readonly overlap?: Envelope['overlap'];
}

const noIds: readonly DuplicateId[] = [];

/** Returns the ids of an event in the order in which they are looked up: its own, and the key of one with an `overlap`. */
function rememberedIdsOf({
  type,
  dedupe,
  overlap,
  key,
}: Pick<Envelope, 'type' | 'dedupe' | 'overlap' | 'key'>): readonly DuplicateId[] {
  const ids = dedupe === undefined ? noIds : [{ type, ...dedupe }];
  if (overlap === undefined || key === undefined) return ids;
  return [...ids, { type: overlapIds(type), id: key, windowMs: 0, overlap }];
}

/** Links the ids of an event, which are held and released together. Returns the first one. */
function link(
  ids: readonly DuplicateId[],
  find: (id: DuplicateId) => RememberedId | undefined,
): RememberedId | undefined {
  let first: RememberedId | undefined;
  for (const id of ids) {
    const found = find(id);
    if (first === undefined) first = found;
    else first.beside = found;
  }
  return first;
}

/** Run type of a group that an event type triggers. */
export interface TriggeredType {
  readonly group: ConsumerGroup;
  readonly type: string;
}

/** Consumer groups that receive the events of one type. */
interface Route {
  readonly handlers: ReadonlySet<ConsumerGroup>;
  readonly triggers: ReadonlyMap<string, TriggeredType>;
}

const noTriggers: Route['triggers'] = new Map();

interface MutableRoute extends Route {
  readonly handlers: Set<ConsumerGroup>;
  readonly triggers: Map<string, TriggeredType>;
}

/** Routes of all event types. */
class Routes {
  readonly #routes = new Map<string, MutableRoute>();
  /** Event types that trigger a run type, by group and run type. */
  readonly #triggeredBy = new Map<string, readonly string[]>();

  find(type: string): Route | undefined {
    return this.#routes.get(type);
  }

  /** Keeps the events of a type for a group. */
  addHandler(type: string, group: ConsumerGroup): void {
    this.#route(type).handlers.add(group);
  }

  /** Returns `true` if events of the type start runs of the group. */
  isTrigger(type: string, group: ConsumerGroup): boolean {
    return [...(this.#routes.get(type)?.triggers.values() ?? [])].some((triggered) => triggered.group === group);
  }

  /** Types of which the group receives events, triggered ones included. */
  typesOf(group: ConsumerGroup): Set<string> {
    const types = new Set<string>();
    for (const [type, { handlers, triggers }] of this.#routes) {
      if (handlers.has(group)) types.add(type);
      for (const triggered of triggers.values()) if (triggered.group === group) types.add(triggered.type);
    }
    return types;
  }

  /** Ends the events of a type for a group. */
  remove(type: string, group: ConsumerGroup): void {
    this.#routes.get(type)?.handlers.delete(group);
    this.setTriggers(group, { type });
  }

  /** Sets the triggers of a run type of a group. They replace the former ones. */
  setTriggers(group: ConsumerGroup, { type, triggers = [] }: Pick<Subscription, 'type' | 'triggers'>): void {
    const key = JSON.stringify([group.service, type]);
    for (const former of this.#triggeredBy.get(key) ?? []) this.#route(former).triggers.delete(key);
    if (triggers.length === 0) this.#triggeredBy.delete(key);
    else this.#triggeredBy.set(key, triggers);
    for (const trigger of triggers) this.#route(trigger).triggers.set(key, { group, type });
  }

  #route(type: string): MutableRoute {
    let route = this.#routes.get(type);
    if (route === undefined) {
      route = { handlers: new Set(), triggers: new Map() };
      this.#routes.set(type, route);
    }
    return route;
  }
}

/** Maximum number of pending events, and of the bytes of their payloads. */
interface PendingMaximum {
  readonly maxPending: number;
  readonly maxPendingBytes: number;
}

/** Counts pending events and the bytes of their payloads, and refuses more than a maximum of each. */
class PendingLimits {
  readonly #maximum: PendingMaximum;
  #events = 0;
  #bytes = 0;

  constructor(maximum: PendingMaximum) {
    this.#maximum = maximum;
  }

  /** @throws {BackpressureError} if so many more do not fit */
  checkRoom(events: number, bytes: number): void {
    const { maxPending, maxPendingBytes } = this.#maximum;
    if (this.#events + events > maxPending) throw new BackpressureError('pending events', `maxPending (${maxPending})`);
    if (this.#bytes + bytes > maxPendingBytes) {
      throw new BackpressureError('payloads of pending events', `maxPendingBytes (${maxPendingBytes})`);
    }
  }

  add(bytes: number): void {
    this.#events += 1;
    this.#bytes += bytes;
  }

  /** Counts stored events. */
  restore(events: number, bytes: number): void {
    this.#events += events;
    this.#bytes += bytes;
  }

  remove(bytes: number): void {
    this.#events -= 1;
    this.#bytes -= bytes;
  }

  /** Counts a payload that replaced another one. */
  resize(addedBytes: number): void {
    this.#bytes += addedBytes;
  }
}
