import type { Clock } from '../clock.js';
import type { DeadLetterFilter, ErasedPayloads, EventRecord, RecentEvents, RequestRecords } from '../event-record.js';
import { CheckedKeyValueStore } from '../key-values/checked-key-value-store.js';
import type { KeyValueStore } from '../key-values/key-value-store.js';
import type { ClaimResult, ScheduleClaim, ScheduleOpening, ScheduleRecord } from '../schedules.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../statistics/stats.js';
import type {
  CloseResult,
  CommitResult,
  ConnectedProcess,
  ConsumeOptions,
  DeadLetterRecord,
  Envelope,
  FailedOutcome,
  Outcome,
  Overview,
  OverviewQuery,
  Receipt,
  RunRecord,
  TransportManager,
  TypeCounts,
} from '../transport.js';
import type { Codec } from './codec.js';
import { CodedDelivery } from './coded-delivery.js';
import { CodedKeyValueStore } from './coded-key-value-store.js';
import { decodeEntries, decodeJson, encodeEnvelope, encodeOutcome } from './coded-values.js';

/** Connection that encodes what another connection stores, and decodes what it reads. */
export class CodedTransport implements TransportManager {
  readonly kv: KeyValueStore;
  readonly #inner: TransportManager;
  readonly #codec: Codec;

  constructor(inner: TransportManager, codec: Codec) {
    this.#inner = inner;
    this.#codec = codec;
    // Checked before the encoding, so that every transport refuses the same values.
    this.kv = new CheckedKeyValueStore(new CodedKeyValueStore(inner.kv, codec));
  }

  get name(): string {
    return this.#inner.name;
  }

  get service(): string {
    return this.#inner.service;
  }

  get clock(): Clock {
    return this.#inner.clock;
  }

  start(options: ConsumeOptions): Promise<void> {
    return this.#inner.start({
      ...options,
      onDelivery: (delivery) => options.onDelivery(new CodedDelivery(delivery, this.#codec)),
    });
  }

  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    return this.#inner.publish(envelopes.map((envelope) => encodeEnvelope(envelope, this.#codec)));
  }

  counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return this.#inner.counts(types);
  }

  metrics(type: string): Promise<EventMetrics> {
    return this.#inner.metrics(type);
  }

  durations(types: readonly string[]): Promise<readonly TypeDurations[]> {
    return this.#inner.durations(types);
  }

  failures(type: string): Promise<readonly FailureRecord[]> {
    return this.#inner.failures(type);
  }

  async recent(type: string): Promise<RecentEvents> {
    const { newest, failed } = await this.#inner.recent(type);
    return {
      newest: newest.map((event) => this.#decodeEvent(event)),
      failed: failed.map((event) => this.#decodeEvent(event)),
    };
  }

  async find(id: string, options?: { readonly bodies?: boolean }): Promise<readonly EventRecord[]> {
    return (await this.#inner.find(id, options)).map((event) => this.#decodeEvent(event));
  }

  async request(requestId: string): Promise<RequestRecords> {
    const { events, isTruncated } = await this.#inner.request(requestId);
    return { events: events.map((event) => this.#decodeEvent(event)), isTruncated };
  }

  erase(requestId: string): Promise<ErasedPayloads> {
    return this.#inner.erase(requestId);
  }

  async deadLetters(type: string, limit: number, filter?: DeadLetterFilter): Promise<readonly DeadLetterRecord[]> {
    return (await this.#inner.deadLetters(type, limit, filter)).map((record) => ({
      ...record,
      envelope: this.#decodeEnvelope(record.envelope),
    }));
  }

  replay(id: string): Promise<boolean> {
    return this.#inner.replay(id);
  }

  range(types: readonly string[], from: number, to: number): Promise<RangeCounts> {
    return this.#inner.range(types, from, to);
  }

  async overview(query: OverviewQuery): Promise<Overview> {
    const overview = await this.#inner.overview(query);
    return { ...overview, runs: overview.runs.map((runs) => runs.map((run) => this.#decodeRun(run))) };
  }

  async waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    const all = await this.#inner.waiting(types, limit);
    return all.map((runs) => runs.map((run) => this.#decodeRun(run)));
  }

  async run(type: string, id: string): Promise<RunRecord | undefined> {
    const run = await this.#inner.run(type, id);
    return run && this.#decodeRun(run);
  }

  async runSince(type: string, id: string, from: number): Promise<RunRecord | undefined> {
    const run = await this.#inner.runSince(type, id, from);
    return run && this.#decodeRun(run);
  }

  watchRun(type: string, id: string, onChange: () => void): Promise<() => void> {
    return this.#inner.watchRun(type, id, onChange);
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    const run = await this.#inner.runEnded(type, id, signal);
    return run && this.#decodeRun(run);
  }

  endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    return this.#inner.endRun(type, id, encodeOutcome(outcome, this.#codec), reason);
  }

  cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): Promise<boolean> {
    return this.#inner.cancel(id, (envelope) => encodeOutcome(conclude(this.#decodeEnvelope(envelope)), this.#codec));
  }

  schedules(): Promise<readonly ScheduleRecord[]> {
    return this.#inner.schedules();
  }

  openSchedules(openings: readonly ScheduleOpening[]): Promise<boolean> {
    return this.#inner.openSchedules(openings);
  }

  async claim(claim: ScheduleClaim): Promise<ClaimResult> {
    return this.#inner.claim({ ...claim, events: claim.events.map((event) => encodeEnvelope(event, this.#codec)) });
  }

  registered(): Promise<readonly string[]> {
    return this.#inner.registered();
  }

  processes(): Promise<readonly ConnectedProcess[]> {
    return this.#inner.processes();
  }

  revision(type?: string): Promise<string> {
    return this.#inner.revision(type);
  }

  close(options: { drainMs: number }): Promise<CloseResult> {
    return this.#inner.close(options);
  }

  /** An entry that cannot be decoded has an unreadable payload: it must not hide the entries beside it. */
  #decodeEnvelope(envelope: Envelope): Envelope {
    try {
      return { ...envelope, body: decodeJson(envelope.body, this.#codec) };
    } catch {
      return { ...envelope, body: '' };
    }
  }

  #decodeEvent(event: EventRecord): EventRecord {
    const { body, run } = event;
    return {
      ...event,
      body: body === undefined ? undefined : this.#decodeBody(body),
      run: run && this.#decodeRun(run),
    };
  }

  /** Returns `undefined` for a body that cannot be decoded. */
  #decodeBody(body: string): string | undefined {
    try {
      return decodeJson(body, this.#codec);
    } catch {
      return undefined;
    }
  }

  #decodeRun(run: RunRecord): RunRecord {
    const envelope = this.#decodeEnvelope(run.envelope);
    try {
      const result = run.result === undefined ? undefined : decodeJson(run.result, this.#codec);
      return { ...run, envelope, result, checkpoints: decodeEntries(run.checkpoints, this.#codec) };
    } catch {
      return { ...run, envelope, result: undefined, checkpoints: new Map() };
    }
  }
}
