import type { Clock } from '../clock.js';
import { formerConnectionMs, stoppedDescription } from '../processes/stopped-description.js';
import type { ConnectedProcess } from '../transport.js';

/** Open connection of a hub. */
export interface OpenConnection {
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
export class Connections {
  readonly #clock: Clock;
  readonly #open = new Map<object, OpenConnection>();
  readonly #former = new Map<string, readonly FormerConnection[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(connection: object, opened: OpenConnection): void {
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

  /** Open connections with their descriptions and states. */
  get processes(): readonly ConnectedProcess[] {
    return [...this.#open.values()].map(({ describe }) => describe());
  }

  /**
   * Returns the descriptions of all open connections, and of the last ones of each service without an open one.
   *
   * @param isSubscribed returns `true` if a service receives events: others are retired
   */
  descriptions(isSubscribed: (service: string) => boolean): readonly string[] {
    const running = new Set([...this.#open.values()].flatMap(({ service, isConsumer }) => (isConsumer ? service : [])));
    const former = [...this.#former].flatMap(([service, connections]) =>
      running.has(service) || !isSubscribed(service) ? [] : connections.map(({ description }) => description),
    );
    return [...this.processes.map(({ description }) => description), ...former];
  }
}
