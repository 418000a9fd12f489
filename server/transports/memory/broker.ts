import { randomUUID } from 'node:crypto';
import { quote } from '../../errors.js';
import type { Clock } from '../clock.js';
import { BackpressureError } from '../errors.js';
import type { EventMetrics, FailureRecord } from '../stats.js';
import { sumCounts } from '../sum-counts.js';
import type { Envelope, Receipt, RunRecord, Subscription, TypeCounts } from '../transport.js';
import { DedupeWindow } from './dedupe-window.js';
import { Service } from './service.js';
import { latestFailures, minuteOf, sumMetrics, type TypeStats } from './type-stats.js';

// Remembered at once for one type.
const maxDedupeIds = 1_000_000;

/** Where events of a type go. */
interface Route {
  readonly handlers: Set<Service>;
  readonly triggers: Map<string, { readonly service: Service; readonly type: string; readonly idSuffix: string }>;
}

/** What all connections to one memory transport share. */
export class Broker {
  readonly clock: Clock;
  readonly maxDeadLetters: number;
  readonly #maxPending: number;
  readonly #id = randomUUID().slice(0, 8);
  readonly #services = new Map<string, Service>();
  readonly #routes = new Map<string, Route>();
  readonly #dedupe = new Map<string, DedupeWindow>();
  readonly #members = new Map<object, () => string>();
  #pending = 0;
  #revision = 0;

  constructor(clock: Clock, { maxPending, maxDeadLetters }: { maxPending: number; maxDeadLetters: number }) {
    this.clock = clock;
    this.#maxPending = maxPending;
    this.maxDeadLetters = maxDeadLetters;
  }

  service(name: string): Service {
    let service = this.#services.get(name);
    if (service === undefined) {
      service = new Service(name, this);
      this.#services.set(name, service);
    }
    return service;
  }

  subscribe(service: Service, subscriptions: readonly Subscription[]): void {
    for (const { type, trigger } of subscriptions) {
      this.#route(type).handlers.add(service);
      if (trigger === undefined) continue;
      const key = JSON.stringify([service.name, type]);
      this.#route(trigger.type).triggers.set(key, { service, type, idSuffix: trigger.idSuffix });
    }
    this.#revision += 1;
  }

  /** Keeps what others may know of a connection while it is open. */
  join(connection: object, describe: () => string): void {
    this.#members.set(connection, describe);
    this.#revision += 1;
  }

  leave(connection: object): void {
    this.#members.delete(connection);
    this.#revision += 1;
  }

  get descriptions(): readonly string[] {
    return [...this.#members.values()].map((describe) => describe());
  }

  /** Marks a change of counts. */
  touch(stats: TypeStats): void {
    stats.revision += 1;
    this.#revision += 1;
  }

  publish(envelopes: readonly Envelope[], from: Service): readonly Receipt[] {
    const now = this.clock.now();
    this.#reserve(envelopes, now);
    return envelopes.map((envelope) => this.#publishOne(envelope, from, now));
  }

  /** Ends one event and accepts what follows from it, past `maxPending` if need be: its outcome stands already. */
  recordEnd(followUps: readonly Envelope[], from: Service): void {
    this.#pending -= 1;
    const now = this.clock.now();
    for (const envelope of followUps) this.#accept(envelope, from, now);
  }

  /** Accepts an event of the service's dead letters again; `false` where it is not one of them. */
  replay(id: string, service: Service): boolean {
    const dead = service.findDeadLetter(id);
    if (dead === undefined) return false;
    if (this.#pending >= this.#maxPending) throw this.#full();
    this.#pending += 1;
    service.replay(dead, this.clock.now());
    return true;
  }

  counts(type: string): TypeCounts {
    const services = [...this.#services.values()].flatMap((service) => {
      const stats = service.findQueue(type)?.stats;
      return stats === undefined ? [] : [{ service: service.name, stats }];
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
    return [...this.#services.values()]
      .flatMap((service) => service.findQueue(type)?.runs?.latest(limit, service.name) ?? [])
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .slice(0, limit);
  }

  revision(type: string | undefined): string {
    if (type === undefined) return `${this.#id}.${this.#revision}`;
    const changes = this.#stats(type).reduce((sum, { revision }) => sum + revision, 0);
    // The hour that `metrics` shows moves on by itself, a minute at a time.
    return `${this.#id}.${changes}.${minuteOf(this.clock.now())}`;
  }

  #stats(type: string): TypeStats[] {
    return [...this.#services.values()].flatMap((service) => service.findQueue(type)?.stats ?? []);
  }

  /** Throws unless all envelopes fit, so that none is accepted without the others. */
  #reserve(envelopes: readonly Envelope[], now: number): void {
    let room = this.#maxPending - this.#pending;
    for (const envelope of envelopes) {
      if (this.#findDuplicate(envelope, now) !== undefined) continue;
      const route = this.#routes.get(envelope.type);
      room -= route === undefined ? 0 : route.handlers.size + route.triggers.size;
      if (room < 0) throw this.#full();
      if (envelope.dedupe !== undefined && !this.#dedupeWindow(envelope.type).hasRoom(envelopes.length, now)) {
        throw new BackpressureError(`deduplication ids of ${quote(envelope.type)}`, `${maxDedupeIds}`);
      }
    }
  }

  #full(): BackpressureError {
    return new BackpressureError('pending events', `maxPending (${this.#maxPending})`);
  }

  #publishOne(envelope: Envelope, from: Service, now: number): Receipt {
    // Asked again: an earlier envelope of the same call may be what it duplicates.
    const earlierId = this.#findDuplicate(envelope, now);
    if (earlierId !== undefined) {
      const handlers = this.#routes.get(envelope.type)?.handlers ?? new Set();
      for (const service of handlers.size === 0 ? [from] : handlers) {
        const { stats } = service.queue(envelope.type);
        stats.deduplicated += 1;
        this.touch(stats);
      }
      return { id: earlierId, deduplicated: true };
    }
    const { dedupe, type, id } = envelope;
    if (dedupe !== undefined) this.#dedupeWindow(type).remember(dedupe.id, id, now + dedupe.windowMs);
    this.#accept(envelope, from, now);
    return { id: envelope.id, deduplicated: false };
  }

  #accept(envelope: Envelope, from: Service, now: number): void {
    const route = this.#routes.get(envelope.type);
    if (route === undefined || route.handlers.size === 0) {
      const { stats } = from.queue(envelope.type);
      stats.countReceived(now);
      stats.countCompleted(now);
      this.touch(stats);
    }
    if (route === undefined) return;
    this.#pending += route.handlers.size + route.triggers.size;
    for (const service of route.handlers) service.accept(envelope, now);
    for (const { service, type, idSuffix } of route.triggers.values()) {
      const { id, depth } = envelope;
      service.accept({ ...envelope, id: id + idSuffix, type, depth: depth + 1, dedupe: undefined }, now);
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
      window = new DedupeWindow(maxDedupeIds);
      this.#dedupe.set(type, window);
    }
    return window;
  }
}
