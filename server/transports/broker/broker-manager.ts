import type { BoundedLog } from '../bounded-log.js';
import type { Clock } from '../clock.js';
import type { CommitResult, Envelope, FailedOutcome, Outcome } from '../delivery.js';
import type { DeadLetterFilter, RunRecord } from '../event-record.js';
import type { KeyValueStore } from '../key-values.js';
import type {
  ClaimResult,
  CloseResult,
  ConsumeOptions,
  CountReader,
  DeadLetterRecord,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  PausedTypes,
  Receipt,
  RunStore,
  ScheduleClaim,
  ScheduleOpening,
  ScheduleRecord,
  ScheduleStore,
  StoredSchedule,
  StoredSchedulePage,
  TakenSchedules,
  TransportManager,
} from '../transport.js';
import type { Broker } from './broker.js';
import type { ConsumerGroup } from './consumer-group.js';
import type { ConsumerSlots } from './dispatcher.js';
import type { RunLog } from './runs.js';

/** Connection of one service to a broker. */
export class BrokerManager implements TransportManager {
  readonly name: string;
  readonly service: string;
  readonly clock: Clock;
  readonly counts: CountReader;
  readonly lookup: EventLookup;
  readonly deadLetters: DeadLetterStore;
  readonly runs: RunStore;
  readonly fleet: FleetReader;
  readonly schedules: ScheduleStore;
  readonly kv: KeyValueStore;
  readonly log: BoundedLog;
  readonly #broker: Broker;
  readonly #group: ConsumerGroup;
  #consumer: ConsumerSlots | undefined;
  #onDrained: ConsumeOptions['onDrained'];

  constructor(name: string, service: string, broker: Broker, { kv, log }: Pick<TransportManager, 'kv' | 'log'>) {
    const group = broker.group(service);
    this.name = name;
    this.service = service;
    this.clock = broker.clock;
    this.counts = broker.statistics;
    this.lookup = broker.lookup;
    this.deadLetters = new BrokerDeadLetters(broker, group);
    this.runs = new BrokerRuns(broker, group);
    this.fleet = broker.connections;
    this.schedules = new BrokerSchedules(broker, group, this);
    this.kv = kv;
    this.log = log;
    this.#broker = broker;
    this.#group = group;
  }

  async start(options: ConsumeOptions): Promise<void> {
    this.#onDrained = options.onDrained;
    // Without it, what the caller publishes next finds the subscriptions.
    if (options.onRegister !== undefined) await options.onRegister();
    await this.#broker.journal.change(() => {
      const { describe, describeProcess } = options;
      if (describe !== undefined) {
        this.#broker.connections.open(this, {
          service: this.service,
          isConsumer: options.subscriptions.length > 0,
          describe: () => ({
            description: describe(),
            state: describeProcess?.(this.#consumer?.active ?? 0) ?? '',
          }),
        });
      }
      this.#broker.feedTriggers(this.#group, options.subscriptions);
      this.#consumer = this.#group.members.open(options);
      this.#broker.subscribe(this.#group, options.subscriptions, options.declared ?? []);
    });
  }

  async pause(paused: PausedTypes): Promise<void> {
    this.#group.pause(paused);
  }

  get nextTurn(): Promise<void> | undefined {
    return this.#broker.turns.nextTurn;
  }

  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    // What is refused takes its time too.
    this.#broker.turns.spend(envelopes);
    return this.#broker.journal.change(() => this.#broker.publish(envelopes, this.#group), envelopes);
  }

  async close({ drainMs }: { drainMs: number }): Promise<CloseResult> {
    const consumer = this.#consumer;
    if (consumer === undefined) return { released: 0, overdue: 0 };
    this.#consumer = undefined;
    const result = await this.#group.members.close(consumer, drainMs);
    await this.#onDrained?.();
    this.#broker.connections.close(this);
    this.#broker.schedules.close(this);
    return result;
  }
}

/** Dead letters of one service. */
class BrokerDeadLetters implements DeadLetterStore {
  readonly #broker: Broker;
  readonly #group: ConsumerGroup;

  constructor(broker: Broker, group: ConsumerGroup) {
    this.#broker = broker;
    this.#group = group;
  }

  async list(type: string, limit: number, filter: DeadLetterFilter = {}): Promise<readonly DeadLetterRecord[]> {
    const { service = this.#group.service } = filter;
    return this.#broker.findGroup(service)?.queues.find(type)?.deadLetters.latest(limit, filter) ?? [];
  }

  async replay(id: string, service: string = this.#group.service): Promise<boolean> {
    const { journal, turns } = this.#broker;
    const group = this.#broker.findGroup(service);
    if (group === undefined) return false;
    return turns.afterCall(await journal.change(() => this.#broker.replay(id, group)));
  }
}

/** Runs of one service. */
class BrokerRuns implements RunStore {
  readonly #broker: Broker;
  readonly #group: ConsumerGroup;

  constructor(broker: Broker, group: ConsumerGroup) {
    this.#broker = broker;
    this.#group = group;
  }

  async get(type: string, id: string, service = this.#group.service): Promise<RunRecord | undefined> {
    return this.#current(type, service)?.record(id, service);
  }

  async getSince(
    type: string,
    id: string,
    from: number,
    service = this.#group.service,
  ): Promise<RunRecord | undefined> {
    return this.#current(type, service)?.recordSince(id, service, from);
  }

  async waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    return types.map((type) => this.#broker.statistics.waiting(type, limit));
  }

  async watch(type: string, id: string, onChange: () => void, service = this.#group.service): Promise<() => void> {
    return this.#log(type, service)?.watch(id, onChange) ?? (() => {});
  }

  async ended(
    type: string,
    id: string,
    signal: AbortSignal,
    service = this.#group.service,
  ): Promise<RunRecord | undefined> {
    return this.#log(type, service)?.ended(id, service, signal);
  }

  async end(
    type: string,
    id: string,
    outcome: Outcome,
    reason: Error,
    service = this.#group.service,
  ): Promise<CommitResult> {
    const { journal, turns } = this.#broker;
    const result = await journal.change((): CommitResult => {
      const group = this.#broker.findGroup(service);
      const entry = this.#log(type, service)?.entry(id);
      if (group === undefined || entry === undefined) return 'fenced';
      if (entry.ended) return 'already';
      group.endRun(type, entry, outcome, reason);
      return 'ok';
    });
    return turns.afterCall(result);
  }

  async cancel(
    id: string,
    conclude: (envelope: Envelope) => FailedOutcome,
    service: string = this.#group.service,
  ): Promise<boolean> {
    const { journal, turns } = this.#broker;
    const group = this.#broker.findGroup(service);
    return turns.afterCall(await journal.change(() => group?.cancel(id, conclude) === true));
  }

  #log(type: string, service: string): RunLog | undefined {
    return this.#broker.findGroup(service)?.queues.find(type)?.runs;
  }

  /** Returns the log of a type without the runs that exceed the retention. */
  #current(type: string, service: string): RunLog | undefined {
    const log = this.#log(type, service);
    log?.evict(this.#broker.clock.now());
    return log;
  }
}

/** Schedules that a connection opens. */
class BrokerSchedules implements ScheduleStore {
  readonly #broker: Broker;
  readonly #group: ConsumerGroup;
  readonly #connection: object;

  constructor(broker: Broker, group: ConsumerGroup, connection: object) {
    this.#broker = broker;
    this.#group = group;
    this.#connection = connection;
  }

  async list(): Promise<readonly ScheduleRecord[]> {
    return this.#broker.schedules.records();
  }

  async open(openings: readonly ScheduleOpening[]): Promise<boolean> {
    const { journal, schedules } = this.#broker;
    return journal.change(() => schedules.open(this.#group.service, this.#connection, openings));
  }

  async claim(claim: ScheduleClaim): Promise<ClaimResult> {
    const { journal, schedules, storedSchedules } = this.#broker;
    const { stored } = claim;
    const accept = (): void => void this.#broker.publish(claim.events, this.#group);
    return journal.change(() =>
      stored === undefined
        ? schedules.claim(this.#group.service, this.#connection, claim, accept)
        : storedSchedules.claim(claim, stored, accept),
    );
  }

  async put(
    schedule: Omit<StoredSchedule, 'lastDue'>,
    expected: string | undefined,
  ): Promise<'stored' | 'changed' | 'full'> {
    return this.#broker.journal.change(() => this.#broker.storedSchedules.put(schedule, expected));
  }

  async get(id: string): Promise<StoredSchedule | undefined> {
    return this.#broker.storedSchedules.get(id);
  }

  async page(after: string, limit: number): Promise<StoredSchedulePage> {
    return this.#broker.storedSchedules.page(after, limit);
  }

  async remove(id: string): Promise<boolean> {
    return this.#broker.journal.change(() => this.#broker.storedSchedules.remove(id));
  }

  async take(limit: number, holdMs: number): Promise<TakenSchedules> {
    return this.#broker.storedSchedules.take(limit, holdMs);
  }

  async watch(onEarlier: () => void): Promise<() => void> {
    return this.#broker.storedSchedules.watch(onEarlier);
  }
}
