import { quote } from '../../errors.js';
import type { Clock } from '../clock.js';
import { type DeclaredEvent, type Envelope, type Subscription, sizeOf } from '../delivery.js';
import { triggeredId } from '../derived-ids.js';
import { BackpressureError } from '../errors.js';
import type { Receipt } from '../transport.js';
import { BrokerStatistics } from './broker-statistics.js';
import { Connections } from './connections.js';
import { ConsumerGroup, type GroupHost } from './consumer-group.js';
import { DedupeWindow, type RememberedId } from './dedupe-window.js';
import type { LeasedDelivery } from './dispatcher.js';
import { type Entry, RecentEntries } from './entry.js';
import { type Journal, noJournal } from './journal.js';
import { Lookup } from './lookup.js';
import { RunWaits } from './runs.js';
import { ScheduleTable } from './schedule-table.js';
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
      for (const service of subscribers) this.#addRoute(type, this.group(service));
    }
    this.revision.increment();
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

  /** Returns the event that a deduplication id in use stands for. */
  remembered(type: string, dedupeId: string): RememberedId | undefined {
    return this.#dedupe.get(type)?.known(dedupeId);
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
    group.accept(envelope, bytes, this.clock.now());
  }

  /** Accepts the event of a dead letter of the group again; `false` if there is no such dead letter. */
  replay(id: string, group: ConsumerGroup): boolean {
    const dead = group.findDeadLetter(id);
    if (dead === undefined) return false;
    this.pending.checkRoom(1, dead.bytes);
    this.pending.add(dead.bytes);
    group.replay(id, this.clock.now());
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
      if (envelope.dedupe !== undefined && !this.#dedupeWindow(envelope.type).hasRoom(envelopes.length, now)) {
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
    const { dedupe, type, id } = envelope;
    const isUnsubscribed = route === undefined || route.handlers.size + route.triggers.size === 0;
    const isAwaited = this.waits.resolveByEvent(envelope);
    // An event that nobody received may be repeated: its services may start later.
    const remembered =
      dedupe === undefined || (isUnsubscribed && !isAwaited)
        ? undefined
        : this.#dedupeWindow(type).remember(dedupe.id, id, now + dedupe.windowMs);
    // Stored envelopes do not name the service that stored them.
    const accepted =
      envelope.service === undefined ? envelope : { ...envelope, body: envelope.body, service: undefined };
    const waitingId = this.#accept(accepted, route, from, now, remembered);
    if (waitingId !== undefined) return { id: waitingId, deduplicated: true };
    return isUnsubscribed ? { id, deduplicated: false, unsubscribed: true } : { id, deduplicated: false };
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
    for (const { group, type } of route.triggers.values()) {
      const { id: causeId, depth } = envelope;
      const id = triggeredId(group.service, causeId, type);
      const triggered = { id, type, depth: depth + 1, dedupe: undefined, causeId };
      this.pending.add(bytes);
      group.accept({ ...envelope, body: envelope.body, ...triggered }, bytes, now);
    }
    return isAccepted ? undefined : waitingId;
  }

  #findDuplicate({ type, dedupe }: Envelope, now: number): string | undefined {
    return dedupe === undefined ? undefined : this.#dedupeWindow(type).find(dedupe.id, now);
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
  /** Event type that triggers a run type, by group and run type. */
  readonly #triggeredBy = new Map<string, string>();

  find(type: string): Route | undefined {
    return this.#routes.get(type);
  }

  /** Keeps the events of a type for a group. */
  addHandler(type: string, group: ConsumerGroup): void {
    this.#route(type).handlers.add(group);
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
    this.setTrigger(group, { type });
  }

  /** Sets the trigger of a run type of a group. It replaces the former one. */
  setTrigger(group: ConsumerGroup, { type, trigger }: Pick<Subscription, 'type' | 'trigger'>): void {
    const key = JSON.stringify([group.service, type]);
    const former = this.#triggeredBy.get(key);
    if (former !== undefined) this.#route(former).triggers.delete(key);
    this.#triggeredBy.delete(key);
    if (trigger === undefined) return;
    this.#triggeredBy.set(key, trigger);
    this.#route(trigger).triggers.set(key, { group, type });
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
