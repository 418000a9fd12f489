import type { BoundedLog } from '../bounded-log.js';
import type { Clock, Timer } from '../clock.js';
import type { Delivery, Envelope, SqlTransaction } from '../delivery.js';
import type { EventRecord, RunRecord } from '../event-record.js';
import type { KeyValueStore } from '../key-values.js';
import type {
  CloseResult,
  ConsumeOptions,
  CountReader,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  Logger,
  PausedTypes,
  Receipt,
  RunStore,
  ScheduleStore,
  TransportManager,
} from '../transport.js';
import { BlobContents } from './blob-contents.js';
import { BlobDelivery } from './blob-delivery.js';
import { BlobIndex } from './blob-index.js';
import { type BlobStore, referencesIn } from './blob-store.js';

/** Settings of {@link BlobTransport}. */
export interface BlobSettings {
  readonly store: BlobStore;
  /** A content with more bytes of JSON is stored as a reference. */
  readonly aboveBytes: number;
  readonly logger: Logger;
}

/** Time between two sweeps of the process that sweeps, in milliseconds. */
const sweepEveryMs = 600_000;
const claimKey = 'hubline:blobs:sweep';

/** Connection that moves large contents to a blob store before another connection stores them, and reads them back. */
export class BlobTransport implements TransportManager {
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
  readonly publishWithin: TransportManager['publishWithin'];
  readonly #inner: TransportManager;
  readonly #contents: BlobContents;
  readonly #logger: Logger;
  readonly #retained = new Set<string>();
  #timer: Timer | undefined;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  constructor(inner: TransportManager, { store, aboveBytes, logger }: BlobSettings) {
    const index = new BlobIndex(inner.kv, inner.lookup);
    const contents = new BlobContents(store, aboveBytes, index, inner.codec);
    this.name = inner.name;
    this.service = inner.service;
    this.clock = inner.clock;
    this.counts = inner.counts;
    this.lookup = blobLookup(inner.lookup, contents, logger);
    this.deadLetters = blobDeadLetters(inner.deadLetters, contents);
    this.runs = blobRuns(inner.runs, contents);
    this.fleet = inner.fleet;
    this.schedules = blobSchedules(inner.schedules, contents);
    this.kv = inner.kv;
    this.log = inner.log;
    const within = inner.publishWithin;
    this.publishWithin =
      within &&
      (async (tx: SqlTransaction, envelopes: readonly Envelope[]) => within(tx, await this.#store(envelopes)));
    this.#inner = inner;
    this.#contents = contents;
    this.#logger = logger;
  }

  async start(options: ConsumeOptions): Promise<void> {
    const debounced = options.subscriptions.filter(({ debounce }) => debounce !== undefined);
    const shared = debounced.flatMap(({ type, triggers = [] }) => [type, ...triggers]);
    for (const { type, retainsRuns } of options.subscriptions) if (retainsRuns === true) this.#retained.add(type);
    const onRegister = async (): Promise<void> => {
      await this.#contents.index.share(shared);
      await options.onRegister?.();
    };
    const onDelivery = (delivery: Delivery): void => this.#deliver(delivery, options.onDelivery);
    await this.#inner.start({ ...options, onDelivery, onRegister });
    if (options.subscriptions.length > 0) this.#scheduleSweep();
  }

  get nextTurn(): Promise<void> | undefined {
    return this.#inner.nextTurn;
  }

  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    const isPlain = envelopes.every((envelope) => !this.#contents.hasLarge(envelope) && this.#areShared(envelope));
    return isPlain ? this.#inner.publish(envelopes) : this.#publishStored(envelopes);
  }

  pause(paused: PausedTypes): Promise<void> {
    return this.#inner.pause(paused);
  }

  async close(options: { drainMs: number }): Promise<CloseResult> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#sweeping;
    return this.#inner.close(options);
  }

  /**
   * Deletes the values whose events and runs are gone.
   *
   * @param now epoch milliseconds
   */
  async sweep(now: number): Promise<void> {
    const remove = async (name: string): Promise<boolean> => {
      try {
        await this.#contents.remove(name);
        return true;
      } catch (err) {
        this.#logger.error({ err, blob: name }, 'blob could not be deleted, will retry');
        return false;
      }
    };
    await this.#contents.index.sweep(now, { remove, isOver: () => this.#isClosed });
  }

  #deliver(delivery: Delivery, onDelivery: ConsumeOptions['onDelivery']): void {
    const opened = new BlobDelivery(delivery, this.#contents, {
      isRetained: this.#retained.has(delivery.envelope.type),
      onFailure: (err, { envelope: { id, type, requestId }, attempt }) => {
        const fields = { err, requestId, eventType: type, eventId: id, attempt };
        this.#logger.warn(fields, 'event released: the blob store failed');
      },
    });
    if (opened.isOpen) onDelivery(opened);
    else void opened.open().then((isLive) => isLive && onDelivery(opened));
  }

  #areShared({ receives, cancelOn }: Envelope): boolean {
    if (receives === undefined && cancelOn === undefined) return true;
    return this.#contents.index.areShared(keptTypes({ receives, cancelOn }));
  }

  async #publishStored(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#inner.publish(await this.#store(envelopes));
  }

  async #store(envelopes: readonly Envelope[]): Promise<readonly Envelope[]> {
    await this.#contents.index.share(envelopes.flatMap(keptTypes));
    return this.#contents.storeEnvelopes(envelopes);
  }

  #scheduleSweep(): void {
    if (this.#isClosed) return;
    this.#timer = this.clock.after(sweepEveryMs, () => {
      this.#sweeping = this.#sweepIfFirst().finally(() => this.#scheduleSweep());
    });
    this.#timer.unref?.();
  }

  /** Sweeps unless another process does. Never rejects. */
  async #sweepIfFirst(): Promise<void> {
    const { kv } = this.#inner;
    try {
      if (!(await kv.set(claimKey, 'claimed', { ifAbsent: true, ttlMs: sweepEveryMs / 2 }))) return;
      await this.sweep(await kv.now());
    } catch (err) {
      this.#logger.error({ err }, 'blobs could not be swept, will retry');
    }
  }
}

/** Returns the types of the events that a run keeps. */
function keptTypes({ receives = [], cancelOn = [] }: Pick<Envelope, 'receives' | 'cancelOn'>): readonly string[] {
  return [...receives, ...cancelOn].map(({ type }) => type);
}

function blobLookup(inner: EventLookup, contents: BlobContents, logger: Logger): EventLookup {
  return {
    recent: (type) => inner.recent(type),
    runs: (type, service, query) => inner.runs(type, service, query),
    async find(id, options) {
      const found = await inner.find(id, options);
      return options?.bodies === true ? Promise.all(found.map((event) => showEvent(event, contents))) : found;
    },
    kept: (id) => inner.kept(id),
    request: (requestId) => inner.request(requestId),
    overview: (query) => inner.overview(query),
    deadLetterErrors: (type, limit) => inner.deadLetterErrors(type, limit),
    async erase(requestId) {
      const erased = await inner.erase(requestId);
      const known = await contents.index.of(requestId);
      if (known.length === 0) return erased;
      const held = erased.pending === 0 ? new Set() : await pendingReferences(inner, requestId);
      const gone = known.filter(({ name }) => held?.has(name) === false);
      for (const { name } of gone) await contents.remove(name);
      await contents.index.drop(
        requestId,
        gone.map(({ name }) => name),
      );
      if (held === undefined) {
        logger.warn({ requestId }, 'blobs of a large request are erased when its last event has ended');
      }
      return erased;
    },
  };
}

/** Returns the references that pending events of a request hold; `undefined` if it has too many events. */
async function pendingReferences(inner: EventLookup, requestId: string): Promise<ReadonlySet<string> | undefined> {
  const { events, isTruncated } = await inner.request(requestId);
  if (isTruncated) return undefined;
  const held = new Set<string>();
  for (const { id, endedAt } of events) {
    if (endedAt !== undefined) continue;
    for (const event of await inner.find(id, { bodies: true })) {
      const entries = event.run === undefined ? [] : [event.run.envelope.body, ...event.run.checkpoints.values()];
      for (const json of [event.body ?? '', ...entries]) for (const name of referencesIn(json)) held.add(name);
    }
  }
  return held;
}

function blobDeadLetters(inner: DeadLetterStore, contents: BlobContents): DeadLetterStore {
  return {
    async list(type, limit, filter) {
      const records = await inner.list(type, limit, filter);
      const shown = records.map(async (record) => ({
        ...record,
        envelope: await showEnvelope(record.envelope, contents),
      }));
      return Promise.all(shown);
    },
    replay: (id, service) => inner.replay(id, service),
  };
}

function blobRuns(inner: RunStore, contents: BlobContents): RunStore {
  return {
    async get(type, id, service) {
      const run = await inner.get(type, id, service);
      return run && showRun(run, contents);
    },
    getSince: (type, id, from, service) => inner.getSince(type, id, from, service),
    waiting: (types, limit) => inner.waiting(types, limit),
    watch: (type, id, onChange, service) => inner.watch(type, id, onChange, service),
    async ended(type, id, signal, service) {
      const run = await inner.ended(type, id, signal, service);
      return run?.result === undefined ? run : { ...run, result: await contents.load(run.result) };
    },
    async end(type, id, outcome, reason, service) {
      if (!contents.isLargeOutcome(outcome)) return inner.end(type, id, outcome, reason, service);
      const [run] = (await inner.get(type, id, service).then((found) => found && [found.envelope])) ?? [];
      const owner = { type, requestId: run?.requestId ?? id };
      return inner.end(type, id, await contents.storeOutcome(outcome, owner, true), reason, service);
    },
    // Its follow-ups embed the reference of the payload, which is small.
    cancel: (id, conclude, service) => inner.cancel(id, conclude, service),
  };
}

function blobSchedules(inner: ScheduleStore, contents: BlobContents): ScheduleStore {
  return {
    list: () => inner.list(),
    open: (openings) => inner.open(openings),
    claim: async (claim) => inner.claim({ ...claim, events: await contents.storeEnvelopes(claim.events) }),
    // A stored schedule is small: its events alone may be above the limit.
    put: (schedule, expected) => inner.put(schedule, expected),
    get: (id) => inner.get(id),
    page: (after, limit) => inner.page(after, limit),
    remove: (id) => inner.remove(id),
    take: (limit, holdMs) => inner.take(limit, holdMs),
    watch: (onEarlier) => inner.watch(onEarlier),
  };
}

async function showEvent(event: EventRecord, contents: BlobContents): Promise<EventRecord> {
  const body = event.body === undefined ? undefined : await contents.show(event.body);
  return { ...event, body, run: event.run && (await showRun(event.run, contents)) };
}

async function showEnvelope(envelope: Envelope, contents: BlobContents): Promise<Envelope> {
  return { ...envelope, body: await contents.show(envelope.body) };
}

async function showRun(run: RunRecord, contents: BlobContents): Promise<RunRecord> {
  const entries: [string, string][] = [];
  for (const [key, value] of run.checkpoints) entries.push([key, await contents.show(value)]);
  const result = run.result === undefined ? undefined : await contents.show(run.result);
  return { ...run, envelope: await showEnvelope(run.envelope, contents), result, checkpoints: new Map(entries) };
}
