import { randomUUID } from 'node:crypto';
import { errorInfo } from '../../../errors.js';
import { type Clock, systemClock, type Timer } from '../../clock.js';
import type { CommitResult, Envelope, FailedOutcome, Outcome } from '../../delivery.js';
import type { RunRecord } from '../../event-record.js';
import { type BatchLimits, TickBatch } from '../../tick-batch.js';
import type { Logger, RunStore } from '../../transport.js';
import type { Database } from '../connection/database.js';
import { readList, readNumber, readOptional } from '../connection/fields.js';
import type { Listener, NotificationListener } from '../connection/listener.js';
import { postgresRunReads } from '../reads/lookups.js';
import { outcomeFields, readResult, StoredEvent } from '../reads/stored-events.js';

// Registrations last ten minutes. A notification may be lost with the session that listens.
const renewalMs = 10_000;

type RunName = readonly [service: string, type: string, id: string];

const nameLimits: BatchLimits<RunName> = { maxSize: 1_000, maxWeight: 1_000, weigh: () => 1 };
const seqLimits: BatchLimits<number> = { maxSize: 100, maxWeight: 100, weigh: () => 1 };

/** Runs of a service, and those of others that callers name. */
export class PostgresRuns implements RunStore, NotificationListener {
  readonly get: RunStore['get'];
  readonly getSince: RunStore['getSince'];
  readonly waiting: RunStore['waiting'];
  readonly #service: string;
  readonly #database: Database;
  readonly #listener: Listener;
  readonly #logger: Logger;
  readonly #receive: () => Promise<void>;
  readonly #watcher = randomUUID();
  readonly #endListeners = new Map<number, Set<() => void>>();
  readonly #changeListeners = new Map<number, Set<() => void>>();
  /** Callers of `ended` without a listener yet. */
  #opening = 0;
  /** Ends that were announced meanwhile: the message may arrive before the reply that names the run. */
  readonly #announced = new Set<number>();
  /** State of the watched runs at the last look. */
  readonly #states = new Map<number, unknown>();
  #looking: Promise<void> | undefined;
  #isLookWanted = false;
  #listening: Promise<() => Promise<void>> | undefined;
  readonly #clock: Clock = systemClock;
  #renewal: Timer | undefined;
  #registering: Promise<unknown> = Promise.resolve();
  readonly #registrations = new TickBatch<RunName, number | undefined>(nameLimits, async (names) => {
    const args = [JSON.stringify(names), this.#watcher];
    return readList(await this.#database.call('watch_ends', args)).map((seq) => readOptional(seq, readNumber));
  });
  readonly #results = new TickBatch<number, RunRecord | undefined>(seqLimits, async (seqs) => {
    const ended = readList(await this.#database.call('take_ends', [seqs, this.#watcher, this.#database.limits]));
    return ended.map((value) => readOptional(value, (event) => new StoredEvent(event).run));
  });

  /** @param receive accepts the events of transactions that have committed: a run may be one of them */
  constructor(database: Database, listener: Listener, service: string, logger: Logger, receive: () => Promise<void>) {
    this.#receive = receive;
    this.#service = service;
    this.#database = database;
    this.#listener = listener;
    this.#logger = logger;
    const { get, getSince, waiting } = postgresRunReads(database, service);
    this.get = async (...run) => (await get(...run)) ?? this.#afterReceiving(() => get(...run));
    this.getSince = async (...run) => (await getSince(...run)) ?? this.#afterReceiving(() => getSince(...run));
    this.waiting = waiting;
  }

  /** Resolves when all callers so far are registered: an outcome that is recorded before would be one that they miss. */
  get registered(): Promise<unknown> {
    return this.#registering;
  }

  async watch(type: string, id: string, onChange: () => void, service: string = this.#service): Promise<() => void> {
    await this.#listen();
    const register = async (): Promise<number | undefined> =>
      readOptional(await this.#database.call('watch_run', [service, type, id, 'c', this.#watcher]), readNumber);
    const seq = (await register()) ?? (await this.#afterReceiving(register));
    if (seq === undefined) return () => {};
    return this.#add(this.#changeListeners, seq, onChange, () => {
      this.#database.call('unwatch_run', [seq, 'c', this.#watcher, this.#database.limits]).catch(() => {});
    });
  }

  async ended(
    type: string,
    id: string,
    signal: AbortSignal,
    service: string = this.#service,
  ): Promise<RunRecord | undefined> {
    signal.throwIfAborted();
    this.#opening += 1;
    let isOpening = true;
    const opened = (): void => {
      if (isOpening) this.#opening -= 1;
      isOpening = false;
      if (this.#opening === 0) this.#announced.clear();
    };
    try {
      return await this.#awaitEnd([service, type, id], signal, opened);
    } finally {
      opened();
    }
  }

  /** @param opened called when a listener waits for the end */
  async #awaitEnd(
    [service, type, id]: RunName,
    signal: AbortSignal,
    opened: () => void,
  ): Promise<RunRecord | undefined> {
    const register = (): Promise<number | undefined> => {
      const registration = this.#listen().then(() => this.#registrations.add([service, type, id]));
      this.#registering = Promise.all([this.#registering, registration]).catch(() => {});
      return registration;
    };
    let seq = await register();
    if (seq === undefined) {
      const readEnd = async (): Promise<RunRecord | undefined> =>
        readOptional(await this.#database.call('read_end', [service, type, id]), (event) => new StoredEvent(event).run);
      const run = await readEnd();
      if (run?.endedAt !== undefined) return run;
      // It may be accepted only now, from the transaction of its caller.
      await this.#receive();
      seq = await register();
      if (seq === undefined) return readEnd();
    }
    const pending = seq;
    let remove = (): void => {};
    let abort = (): void => {};
    try {
      return await new Promise<RunRecord | undefined>((resolve, reject) => {
        const read = (): void => {
          this.#results.add(pending).then((run) => {
            if (run !== undefined) resolve(run);
          }, reject);
        };
        abort = () => reject(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        if (signal.aborted) abort();
        remove = this.#add(this.#endListeners, pending, read, () => {});
        if (this.#announced.has(pending)) read();
        opened();
      });
    } finally {
      remove();
      signal.removeEventListener('abort', abort);
    }
  }

  async end(
    type: string,
    id: string,
    outcome: Outcome,
    reason: Error,
    service: string = this.#service,
  ): Promise<CommitResult> {
    await this.#registering;
    const args = [service, type, id, JSON.stringify(outcomeFields(outcome)), reasonOf(reason), this.#database.limits];
    const end = async (): Promise<CommitResult> => readResult(await this.#database.call('end_run', args));
    const result = await end();
    return result === 'fenced' ? this.#afterReceiving(end) : result;
  }

  async cancel(
    id: string,
    conclude: (envelope: Envelope) => FailedOutcome,
    service: string = this.#service,
  ): Promise<boolean> {
    for (;;) {
      const find = (): Promise<unknown> => this.#database.call('find_cancellable', [service, id]);
      const found = (await find()) ?? (await this.#afterReceiving(find));
      if (found === null) return false;
      const event = new StoredEvent(found);
      const outcome = conclude(event.envelope);
      const fields = JSON.stringify({ ...outcomeFields(outcome), seq: event.seq });
      const reason = JSON.stringify(outcome.error);
      const result = readResult(await this.#database.call('cancel_event', [fields, reason, this.#database.limits]));
      if (result === 'ok') return true;
      if (result === 'already') return false;
    }
  }

  onChange(seq: number): void {
    for (const listener of [...(this.#changeListeners.get(seq) ?? [])]) listener();
  }

  onEnd(seq: number): void {
    if (this.#opening > 0) this.#announced.add(seq);
    for (const listener of [...(this.#endListeners.get(seq) ?? [])]) listener();
  }

  onMissed(): void {
    this.#isLookWanted = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  /** Tells the listeners of runs that have changed or ended since the last look. */
  async #look(): Promise<void> {
    while (this.#isLookWanted) {
      this.#isLookWanted = false;
      const seqs = [...new Set([...this.#changeListeners.keys(), ...this.#endListeners.keys()])];
      if (seqs.length === 0) return;
      const states = await this.#database.call('run_states', [seqs]).then(readList, () => []);
      for (const [index, state] of states.entries()) {
        const seq = seqs[index] ?? 0;
        if (state === null) this.onEnd(seq);
        if (state === null || this.#states.get(seq) !== state) this.onChange(seq);
        if (this.#changeListeners.has(seq)) this.#states.set(seq, state);
      }
    }
  }

  #renew(): void {
    this.#renewal = undefined;
    if (this.#changeListeners.size + this.#endListeners.size === 0) return;
    this.#renewal = this.#clock.after(renewalMs, () => this.#renew());
    this.#database.call('renew_watcher', [this.#watcher]).catch(() => {});
    this.onMissed();
  }

  async close(): Promise<void> {
    this.#renewal?.cancel();
    const listening = this.#listening;
    this.#listening = undefined;
    await (await listening)?.();
  }

  /** Looks again after the events of transactions are accepted. */
  async #afterReceiving<T>(look: () => Promise<T>): Promise<T> {
    await this.#receive();
    return look();
  }

  async #listen(): Promise<void> {
    this.#listening ??= this.#listener.add(this, this.#logger);
    await this.#listening;
  }

  /** Adds a listener for a run. Returns a function that removes it, and calls `onLast` after the last one. */
  #add(listeners: Map<number, Set<() => void>>, seq: number, listener: () => void, onLast: () => void): () => void {
    const all = listeners.get(seq) ?? new Set();
    listeners.set(seq, all);
    this.#renewal ??= this.#clock.after(renewalMs, () => this.#renew());
    // Wrapped, so that one function can listen twice.
    const wrapped = (): void => listener();
    all.add(wrapped);
    return () => {
      if (!all.delete(wrapped) || all.size > 0) return;
      listeners.delete(seq);
      this.#states.delete(seq);
      onLast();
    };
  }
}

function reasonOf(reason: Error): string {
  return JSON.stringify(errorInfo(reason));
}
