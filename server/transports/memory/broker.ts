import { quote } from '../../errors.js';
import type { Clock } from '../clock.js';
import { triggeredId } from '../derive-id.js';
import { sizeOf } from '../envelope.js';
import { BackpressureError } from '../errors.js';
import type { ConnectedProcess, DeclaredEvent, Envelope, Receipt, Subscription } from '../transport.js';
import { BrokerStatistics } from './broker-statistics.js';
import { Connections, type OpenConnection } from './connections.js';
import { ConsumerGroup, type GroupHost } from './group/consumer-group.js';
import { Lookup } from './lookup.js';
import { PendingLimits, type PendingMaximum } from './pending-limits.js';
import type { DeadLetterLimits } from './records/dead-letters.js';
import { DedupeWindow, type RememberedId } from './records/dedupe-window.js';
import type { Entry } from './records/entry.js';
import { type Journal, noJournal } from './records/journal.js';
import { RecentEntries } from './records/recent-entries.js';
import { RunWaits } from './records/run-waits.js';
import { type Route, Routes } from './routes.js';
import { ScheduleTable } from './schedule-table.js';
import type { PeriodHistory } from './statistics/period-history.js';
import { RevisionCounter } from './statistics/revision-counter.js';
import { TurnBudget } from './turn-budget.js';

const maxDedupeIdsPerType = 1_000_000;

/** Shared state of all connections to one memory transport. */
export class Broker implements GroupHost {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly deadLetterLimits: DeadLetterLimits;
  readonly revision: RevisionCounter = new RevisionCounter();
  readonly waits: RunWaits;
  readonly recent: RecentEntries = new RecentEntries();
  /** Makes callers yield. */
  readonly turns: TurnBudget;
  readonly #pending: PendingLimits;
  readonly #groups = new Map<string, ConsumerGroup>();
  readonly lookup: Lookup;
  readonly statistics: BrokerStatistics;
  readonly #routes = new Routes();
  readonly #dedupe = new Map<string, DedupeWindow>();
  readonly schedules: ScheduleTable;
  readonly #connections: Connections;

  constructor(clock: Clock, maximum: PendingMaximum & DeadLetterLimits, journal: Journal = noJournal) {
    this.clock = clock;
    this.journal = journal;
    this.#connections = new Connections(clock);
    this.waits = new RunWaits(clock, journal);
    this.lookup = new Lookup(this.#groups, clock);
    this.turns = new TurnBudget(clock);
    this.statistics = new BrokerStatistics(this.#groups, this);
    this.#pending = new PendingLimits(maximum);
    this.deadLetterLimits = maximum;
    this.schedules = new ScheduleTable(clock, this.revision, journal);
  }

  group(service: string): ConsumerGroup {
    let group = this.#groups.get(service);
    if (group === undefined) {
      group = new ConsumerGroup(service, this);
      this.#groups.set(service, group);
    }
    return group;
  }

  history(type: string | undefined): PeriodHistory {
    return this.statistics.history(type);
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
    this.#routes.addHandler(type, group);
    this.journal.route(type, group.service, true);
  }

  /** Services that receive events. */
  get subscribedServices(): readonly string[] {
    return [...this.#groups.keys()].filter((service) => this.isSubscribed(service));
  }

  /** Types of which a group receives events. */
  routedTypes(group: ConsumerGroup): ReadonlySet<string> {
    return this.#routes.typesOf(group);
  }

  /** Ends the events of a type for a group. */
  removeRoute(type: string, group: ConsumerGroup): void {
    this.#routes.remove(type, group);
    this.journal.route(type, group.service, false);
    this.revision.increment();
  }

  setTrigger(group: ConsumerGroup, { type, trigger }: Subscription): void {
    this.#routes.setTrigger(group, type, trigger);
  }

  /** Adds a stored route. */
  restoreRoute(type: string, service: string): void {
    this.#routes.addHandler(type, this.group(service));
  }

  /** Counts stored events as pending. */
  restorePending(events: number, bytes: number): void {
    this.#pending.restore(events, bytes);
  }

  /** Adds a stored deduplication id. */
  restoreDedupe(type: string, dedupeId: string, eventId: string, until: number): void {
    this.#dedupeWindow(type).restore(dedupeId, eventId, until);
  }

  /** Returns the event that a deduplication id in use stands for. */
  remembered(type: string, dedupeId: string): RememberedId | undefined {
    return this.#dedupe.get(type)?.known(dedupeId);
  }

  /** Registers an open connection. */
  join(connection: object, opened: OpenConnection): void {
    this.#connections.open(connection, opened);
    this.revision.increment();
  }

  leave(connection: object): void {
    this.#connections.close(connection);
    this.schedules.close(connection);
    this.revision.increment();
  }

  /** Adds a connection with subscriptions of an earlier process. */
  restoreConnection(service: string, description: string): void {
    this.#connections.restore(service, description);
  }

  get processes(): readonly ConnectedProcess[] {
    return this.#connections.processes;
  }

  /** Returns the descriptions of the open connections, and of the last ones of services without an open one. */
  descriptions(): readonly string[] {
    return this.#connections.descriptions((service) => this.isSubscribed(service));
  }

  /** Returns `true` if the service receives events. */
  isSubscribed(service: string): boolean {
    const group = this.#groups.get(service);
    return group !== undefined && this.#routes.typesOf(group).size > 0;
  }

  publish(envelopes: readonly Envelope[], from: ConsumerGroup): readonly Receipt[] {
    const now = this.clock.now();
    this.#checkCapacity(envelopes, now);
    return envelopes.map((envelope) => this.#publishOne(envelope, from, now));
  }

  /** Follow-ups are accepted even past `maxPending`: the outcome is already recorded. */
  recordEnd({ bytes, remembered }: Entry, followUps: readonly Envelope[], from: ConsumerGroup): void {
    this.#pending.remove(bytes);
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
    this.#pending.add(bytes);
    group.accept(envelope, bytes, this.clock.now());
  }

  recordResize(addedBytes: number): void {
    this.#pending.resize(addedBytes);
  }

  /** Accepts the event of a dead letter of the group again; `false` if there is no such dead letter. */
  replay(id: string, group: ConsumerGroup): boolean {
    const dead = group.findDeadLetter(id);
    if (dead === undefined) return false;
    this.#pending.checkRoom(1, dead.bytes);
    this.#pending.add(dead.bytes);
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
    this.#pending.checkRoom(events, bytes);
  }

  /** Returns the number of events that the services of the type would accept. */
  #copiesOf(envelope: Envelope): number {
    const route = this.#routes.find(envelope.type);
    if (route === undefined) return 0;
    let copies = route.triggers.size;
    for (const group of route.handlers) if (!group.debounces(envelope)) copies += 1;
    return copies;
  }

  #publishOne(envelope: Envelope, from: ConsumerGroup, now: number): Receipt {
    // Checked again: an earlier envelope of the same call may have the same id.
    const earlierId = this.#findDuplicate(envelope, now);
    const route = this.#routes.find(envelope.type);
    if (earlierId !== undefined) {
      const handlers = route?.handlers;
      for (const group of handlers === undefined || handlers.size === 0 ? [from] : handlers)
        group.queues.of(envelope.type).stats.countDeduplicated();
      return { id: earlierId, deduplicated: true };
    }
    const { dedupe, type, id } = envelope;
    const remembered = dedupe && this.#dedupeWindow(type).remember(dedupe.id, id, now + dedupe.windowMs);
    const waitingId = this.#accept(envelope, route, from, now, remembered);
    if (waitingId !== undefined) return { id: waitingId, deduplicated: true };
    const isUnsubscribed = route === undefined || route.handlers.size + route.triggers.size === 0;
    return isUnsubscribed ? { id, deduplicated: false, unsubscribed: true } : { id, deduplicated: false };
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
    this.waits.resolveByEvent(envelope);
    if (route === undefined) return undefined;
    const bytes = sizeOf(envelope);
    let isAccepted = route.triggers.size > 0;
    let waitingId: string | undefined;
    for (const group of route.handlers) {
      const debouncedBy = group.accept(envelope, bytes, now, remembered);
      if (debouncedBy === undefined) {
        this.#pending.add(bytes);
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
      this.#pending.add(bytes);
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
