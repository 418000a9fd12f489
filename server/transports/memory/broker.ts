import { randomUUID } from 'node:crypto';
import { quote } from '../../errors.js';
import type { Clock } from '../clock.js';
import { BackpressureError } from '../errors.js';
import type { EventMetrics, FailureRecord } from '../stats.js';
import { sumCounts } from '../sum-counts.js';
import type { Envelope, Receipt, RunRecord, Subscription, TypeCounts } from '../transport.js';
import { ConsumerGroup, type GroupHost } from './consumer-group.js';
import type { DeadLetterLimits } from './dead-letters.js';
import { DedupeWindow } from './dedupe-window.js';
import { RevisionCounter } from './revision-counter.js';
import { latestFailures, minuteOf, sumMetrics, type TypeStats } from './type-stats.js';

const maxDedupeIdsPerType = 1_000_000;

/** Consumer groups that receive the events of one type. */
interface Route {
  readonly handlers: Set<ConsumerGroup>;
  readonly triggers: Map<string, { readonly group: ConsumerGroup; readonly type: string; readonly idSuffix: string }>;
}

/** Shared state of all connections to one memory transport. */
export class Broker implements GroupHost {
  readonly clock: Clock;
  readonly deadLetterLimits: DeadLetterLimits;
  readonly revision: RevisionCounter = new RevisionCounter();
  readonly #maxPending: number;
  readonly #id = randomUUID().slice(0, 8);
  readonly #groups = new Map<string, ConsumerGroup>();
  readonly #routes = new Map<string, Route>();
  readonly #dedupe = new Map<string, DedupeWindow>();
  readonly #descriptions = new Map<object, () => string>();
  #pending = 0;

  constructor(clock: Clock, { maxPending, ...deadLetterLimits }: { readonly maxPending: number } & DeadLetterLimits) {
    this.clock = clock;
    this.#maxPending = maxPending;
    this.deadLetterLimits = deadLetterLimits;
  }

  group(service: string): ConsumerGroup {
    let group = this.#groups.get(service);
    if (group === undefined) {
      group = new ConsumerGroup(service, this);
      this.#groups.set(service, group);
    }
    return group;
  }

  subscribe(group: ConsumerGroup, subscriptions: readonly Subscription[]): void {
    for (const { type, trigger } of subscriptions) {
      this.#route(type).handlers.add(group);
      if (trigger === undefined) continue;
      const key = JSON.stringify([group.service, type]);
      this.#route(trigger.type).triggers.set(key, { group, type, idSuffix: trigger.idSuffix });
    }
    this.revision.increment();
  }

  /** Registers the description of an open connection. */
  join(connection: object, describe: () => string): void {
    this.#descriptions.set(connection, describe);
    this.revision.increment();
  }

  leave(connection: object): void {
    this.#descriptions.delete(connection);
    this.revision.increment();
  }

  get descriptions(): readonly string[] {
    return [...this.#descriptions.values()].map((describe) => describe());
  }

  publish(envelopes: readonly Envelope[], from: ConsumerGroup): readonly Receipt[] {
    const now = this.clock.now();
    this.#checkCapacity(envelopes, now);
    return envelopes.map((envelope) => this.#publishOne(envelope, from, now));
  }

  /** Follow-ups are accepted even past `maxPending`: the outcome is already recorded. */
  recordEnd(followUps: readonly Envelope[], from: ConsumerGroup): void {
    this.#pending -= 1;
    const now = this.clock.now();
    for (const envelope of followUps) this.#accept(envelope, from, now);
  }

  /** Accepts the event of a dead letter of the group again; `false` if there is no such dead letter. */
  replay(id: string, group: ConsumerGroup): boolean {
    if (!group.hasDeadLetter(id)) return false;
    if (this.#pending >= this.#maxPending) throw this.#maxPendingReached();
    this.#pending += 1;
    group.replay(id, this.clock.now());
    return true;
  }

  counts(type: string): TypeCounts {
    const services = [...this.#groups.values()].flatMap((group) => {
      const stats = group.findQueue(type)?.stats;
      return stats === undefined ? [] : [{ service: group.service, stats }];
    });
    return {
      total: sumCounts(services.map(({ stats }) => stats)),
      services: services.map(({ service, stats }) => ({ service, counts: sumCounts([stats]) })),
    };
  }

  metrics(type: string): EventMetrics {
    return sumMetrics(type, this.#stats(type), this.clock.now());
  }

  failures(type: string): readonly FailureRecord[] {
    return latestFailures(this.#stats(type));
  }

  runs(type: string, limit: number): readonly RunRecord[] {
    return [...this.#groups.values()]
      .flatMap((group) => group.findQueue(type)?.runs?.latest(limit, group.service) ?? [])
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .slice(0, limit);
  }

  revisionOf(type: string | undefined): string {
    if (type === undefined) return `${this.#id}.${this.revision.value}`;
    const changes = this.#stats(type).reduce((sum, { revision }) => sum + revision, 0);
    // The history in `metrics` changes every minute without an event.
    return `${this.#id}.${changes}.${minuteOf(this.clock.now())}`;
  }

  #stats(type: string): TypeStats[] {
    return [...this.#groups.values()].flatMap((group) => group.findQueue(type)?.stats ?? []);
  }

  /** Throws unless all envelopes fit, so that a call accepts all of them or none. */
  #checkCapacity(envelopes: readonly Envelope[], now: number): void {
    let room = this.#maxPending - this.#pending;
    for (const envelope of envelopes) {
      if (this.#findDuplicate(envelope, now) !== undefined) continue;
      const route = this.#routes.get(envelope.type);
      room -= route === undefined ? 0 : route.handlers.size + route.triggers.size;
      if (room < 0) throw this.#maxPendingReached();
      if (envelope.dedupe !== undefined && !this.#dedupeWindow(envelope.type).hasRoom(envelopes.length, now)) {
        throw new BackpressureError(`deduplication ids of ${quote(envelope.type)}`, `${maxDedupeIdsPerType}`);
      }
    }
  }

  #maxPendingReached(): BackpressureError {
    return new BackpressureError('pending events', `maxPending (${this.#maxPending})`);
  }

  #publishOne(envelope: Envelope, from: ConsumerGroup, now: number): Receipt {
    // Checked again: an earlier envelope of the same call may have the same id.
    const earlierId = this.#findDuplicate(envelope, now);
    if (earlierId !== undefined) {
      const handlers = this.#routes.get(envelope.type)?.handlers ?? new Set();
      for (const group of handlers.size === 0 ? [from] : handlers) group.queue(envelope.type).stats.countDeduplicated();
      return { id: earlierId, deduplicated: true };
    }
    const { dedupe, type, id } = envelope;
    if (dedupe !== undefined) this.#dedupeWindow(type).remember(dedupe.id, id, now + dedupe.windowMs);
    this.#accept(envelope, from, now);
    return { id: envelope.id, deduplicated: false };
  }

  #accept(envelope: Envelope, from: ConsumerGroup, now: number): void {
    const route = this.#routes.get(envelope.type);
    if (route === undefined || route.handlers.size === 0) {
      const { stats } = from.queue(envelope.type);
      stats.countReceived(now);
      stats.countCompleted(now);
    }
    if (route === undefined) return;
    this.#pending += route.handlers.size + route.triggers.size;
    for (const group of route.handlers) group.accept(envelope, now);
    for (const { group, type, idSuffix } of route.triggers.values()) {
      const { id, depth } = envelope;
      group.accept({ ...envelope, id: id + idSuffix, type, depth: depth + 1, dedupe: undefined }, now);
    }
  }

  #route(type: string): Route {
    let route = this.#routes.get(type);
    if (route === undefined) {
      route = { handlers: new Set(), triggers: new Map() };
      this.#routes.set(type, route);
    }
    return route;
  }

  #findDuplicate({ type, dedupe }: Envelope, now: number): string | undefined {
    return dedupe === undefined ? undefined : this.#dedupeWindow(type).find(dedupe.id, now);
  }

  #dedupeWindow(type: string): DedupeWindow {
    let window = this.#dedupe.get(type);
    if (window === undefined) {
      window = new DedupeWindow(maxDedupeIdsPerType);
      this.#dedupe.set(type, window);
    }
    return window;
  }
}
