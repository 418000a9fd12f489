import { randomUUID } from 'node:crypto';
import type { Broker } from '../../memory/broker.js';
import { describedService, stoppedDescription } from '../../processes/stopped-description.js';
import { textOf } from '../loading/stored-values.js';
import type { Database } from './driver.js';

// Ends the owner of a hub without subscriptions.
const idleMark = ' without subscriptions';

interface HubRow {
  readonly id: number;
  readonly owner: string;
  readonly isConsumer: boolean;
  readonly description: string;
  readonly service: string | undefined;
}

/** Stored descriptions of the hubs that used a file last: per service those of its last process. */
export class HubRows {
  readonly #database: Database;
  readonly #broker: Pick<Broker, 'isSubscribed'>;
  readonly #owner: string = randomUUID();

  constructor(database: Database, broker: Pick<Broker, 'isSubscribed'>) {
    this.#database = database;
    this.#broker = broker;
  }

  /** Stores the description of a hub of this process in place of those that it makes obsolete. */
  store(description: string, isConsumer: boolean): void {
    const owner = isConsumer ? this.#owner : this.#owner + idleMark;
    const service = describedService(description);
    const isObsolete = (row: HubRow): boolean =>
      row.owner.startsWith(this.#owner)
        ? row.owner === owner && row.description === description
        : !row.isConsumer || (row.service === service ? isConsumer : !this.#isSubscribed(row));
    const remove = this.#database.prepare('DELETE FROM hubs WHERE id = ?');
    for (const row of this.#rows().filter(isObsolete)) remove.run(row.id);
    this.#database.prepare('INSERT INTO hubs (owner, description) VALUES (?, ?)').run(owner, description);
  }

  /** Passes those with subscriptions to the broker. */
  restore(broker: Pick<Broker, 'restoreConnection'>): void {
    for (const { service, description, isConsumer } of this.#rows()) {
      if (isConsumer && service !== undefined) broker.restoreConnection(service, description);
    }
  }

  /** Returns the descriptions of all but those of retired services, each with the property `isStopped`. */
  stopped(): readonly string[] {
    return this.#rows()
      .filter((row) => !row.isConsumer || this.#isSubscribed(row))
      .map(({ description }) => stoppedDescription(description));
  }

  #isSubscribed({ service }: HubRow): boolean {
    return service !== undefined && this.#broker.isSubscribed(service);
  }

  #rows(): readonly HubRow[] {
    const rows = this.#database.prepare('SELECT id, owner, description FROM hubs ORDER BY id').all();
    return rows.map((row) => {
      const [owner, description] = [textOf(row, 'owner'), textOf(row, 'description')];
      return {
        id: Number(row['id']),
        owner,
        isConsumer: !owner.endsWith(idleMark),
        description,
        service: describedService(description),
      };
    });
  }
}
