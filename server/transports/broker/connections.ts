import type { Clock } from '../clock.js';
import { formerConnectionMs, stoppedDescription } from '../services.js';
import type { ConnectedProcess, FleetReader } from '../transport.js';
import type { RevisionCounter } from './type-stats.js';

/** Open connection of a hub. */
interface OpenConnection {
  readonly service: string;
  /** It has subscriptions. */
  readonly isConsumer: boolean;
  /** Returns the current description and state. */
  readonly describe: () => ConnectedProcess;
}

interface FormerConnection {
  /** Description with the property `isStopped`. */
  readonly description: string;
  /** Time of its end; `undefined` if it was a connection of an earlier process. */
  readonly endedAt: number | undefined;
}

/** Open connections, and the last ones with subscriptions of each service. */
export class Connections implements FleetReader {
  readonly #clock: Clock;
  readonly #revision: RevisionCounter;
  readonly #isSubscribed: (service: string) => boolean;
  readonly #open = new Map<object, OpenConnection>();
  readonly #former = new Map<string, readonly FormerConnection[]>();

  /** Descriptions of connections without subscriptions of an earlier process. */
  readonly #idle: string[] = [];

  /** @param isSubscribed returns `true` if a service receives events: others are retired */
  constructor(clock: Clock, revision: RevisionCounter, isSubscribed: (service: string) => boolean) {
    this.#clock = clock;
    this.#revision = revision;
    this.#isSubscribed = isSubscribed;
  }

  open(connection: object, opened: OpenConnection): void {
    this.#revision.increment();
    this.#open.set(connection, opened);
    const { service, isConsumer } = opened;
    const former = this.#former.get(service);
    if (isConsumer && former !== undefined) {
      this.#former.set(
        service,
        former.filter(({ endedAt }) => endedAt !== undefined),
      );
    }
  }

  close(connection: object): void {
    const closed = this.#open.get(connection);
    this.#revision.increment();
    this.#open.delete(connection);
    if (closed?.isConsumer !== true) return;
    const endedAt = this.#clock.now();
    const description = stoppedDescription(closed.describe().description);
    const others = (this.#former.get(closed.service) ?? []).filter(
      (other) => (other.endedAt ?? 0) > endedAt - formerConnectionMs && other.description !== description,
    );
    this.#former.set(closed.service, [...others, { description, endedAt }]);
  }

  /** Adds a connection with subscriptions of an earlier process. */
  restore(service: string, description: string): void {
    const former = { description: stoppedDescription(description), endedAt: undefined };
    this.#former.set(service, [...(this.#former.get(service) ?? []), former]);
  }

  /** Adds a connection without subscriptions of an earlier process. */
  restoreIdle(description: string): void {
    this.#idle.push(stoppedDescription(description));
  }

  async processes(): Promise<readonly ConnectedProcess[]> {
    return this.#described();
  }

  async registered(): Promise<readonly string[]> {
    return this.descriptions();
  }

  /** Returns the descriptions of all open connections, and of the last ones of each service without an open one. */
  descriptions(): readonly string[] {
    const running = new Set([...this.#open.values()].flatMap(({ service, isConsumer }) => (isConsumer ? service : [])));
    const former = [...this.#former].flatMap(([service, connections]) =>
      running.has(service) || !this.#isSubscribed(service) ? [] : connections.map(({ description }) => description),
    );
    return [...this.#described().map(({ description }) => description), ...former, ...this.#idle];
  }

  #described(): readonly ConnectedProcess[] {
    return [...this.#open.values()].map(({ describe }) => describe());
  }
}
