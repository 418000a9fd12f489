import { setTimeout as delay } from 'node:timers/promises';
import { errorInfo } from '../../../errors.js';
import type { Clock } from '../../clock.js';
import type {
  DeadLetterFilter,
  ErasedPayloads,
  EventRecord,
  RecentEvents,
  RequestRecords,
} from '../../event-record.js';
import type { KeyValueStore } from '../../key-values/key-value-store.js';
import type { Logger } from '../../logger.js';
import type { ClaimResult, ScheduleOpening, ScheduleRecord } from '../../schedules.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../../statistics/stats.js';
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
} from '../../transport.js';
import { FileObserverError } from '../sqlite-errors.js';
import { FileLink, type LinkSettings } from './file-link.js';

// Time between two reads of the state of a run.
const watchIntervalMs = 250;

/** Connection of a hub without handlers to a file that another process owns. */
export class ObserverManager implements TransportManager {
  readonly name = 'sqlite';
  readonly service: string;
  readonly clock: Clock;
  readonly kv: KeyValueStore;
  readonly #link: FileLink;
  readonly #closing = new AbortController();

  constructor(service: string, settings: LinkSettings, logger: Logger) {
    this.service = service;
    this.clock = settings.clock;
    const link = new FileLink(settings, service, logger);
    this.#link = link;
    this.kv = {
      get: (key) => link.call('keyValue', key),
      range: (key, from, to) => link.call('keyRange', key, from, to),
      set: () => refuse('kv.set()'),
      delete: () => refuse('kv.delete()'),
      increment: () => refuse('kv.increment()'),
      append: () => refuse('kv.append()'),
    };
  }

  async start({ subscriptions, declared = [] }: ConsumeOptions): Promise<void> {
    if (subscriptions.length > 0) return refuse('start() with handlers');
    if (declared.some(({ subscribers }) => subscribers.length > 0)) return refuse('start() with subscribers');
    await this.#link.open();
  }

  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#link.call('publish', envelopes);
  }

  counts(types: readonly string[]): Promise<readonly TypeCounts[]> {
    return this.#link.call('counts', types);
  }

  metrics(type: string): Promise<EventMetrics> {
    return this.#link.call('metrics', type);
  }

  range(types: readonly string[], from: number, to: number): Promise<RangeCounts> {
    return this.#link.call('range', types, from, to);
  }

  durations(types: readonly string[]): Promise<readonly TypeDurations[]> {
    return this.#link.call('durations', types);
  }

  failures(type: string): Promise<readonly FailureRecord[]> {
    return this.#link.call('failures', type);
  }

  recent(type: string): Promise<RecentEvents> {
    return this.#link.call('recent', type);
  }

  find(id: string, options: { readonly bodies?: boolean } = {}): Promise<readonly EventRecord[]> {
    return this.#link.call('find', id, options);
  }

  request(requestId: string): Promise<RequestRecords> {
    return this.#link.call('request', requestId);
  }

  erase(requestId: string): Promise<ErasedPayloads> {
    return this.#link.call('erase', requestId);
  }

  deadLetters(type: string, limit: number, filter: DeadLetterFilter = {}): Promise<readonly DeadLetterRecord[]> {
    return this.#link.call('deadLetters', type, limit, filter);
  }

  replay(id: string): Promise<boolean> {
    return this.#link.call('replay', id);
  }

  overview(query: OverviewQuery): Promise<Overview> {
    return this.#link.call('overview', query);
  }

  waiting(types: readonly string[], limit: number): Promise<readonly (readonly RunRecord[])[]> {
    return this.#link.call('waiting', types, limit);
  }

  run(type: string, id: string): Promise<RunRecord | undefined> {
    return this.#link.call('run', type, id);
  }

  runSince(type: string, id: string, from: number): Promise<RunRecord | undefined> {
    return this.#link.call('runSince', type, id, from);
  }

  async watchRun(type: string, _id: string, onChange: () => void): Promise<() => void> {
    const stopped = new AbortController();
    const signal = AbortSignal.any([stopped.signal, this.#closing.signal]);
    let known = await this.revision(type);
    const watch = async (): Promise<void> => {
      while (!signal.aborted) {
        await delay(watchIntervalMs, undefined, { signal }).catch(() => {});
        // The next look repeats a read that failed.
        const found = signal.aborted ? known : await this.revision(type).catch(() => known);
        if (found !== known && !signal.aborted) onChange();
        known = found;
      }
    };
    void watch();
    return () => stopped.abort();
  }

  async runEnded(type: string, id: string, signal: AbortSignal): Promise<RunRecord | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const run = await this.run(type, id);
      if (run === undefined || run.endedAt !== undefined) return run;
      await delay(watchIntervalMs, undefined, { signal }).catch(() => {});
    }
  }

  endRun(type: string, id: string, outcome: Outcome, reason: Error): Promise<CommitResult> {
    return this.#link.call('endRun', type, id, withoutThrown(outcome), errorInfo(reason));
  }

  async cancel(id: string, conclude: (envelope: Envelope) => FailedOutcome): Promise<boolean> {
    const envelope = await this.#link.call('cancellable', id);
    if (envelope === undefined) return false;
    return this.#link.call('cancel', id, withoutThrown(conclude(envelope)));
  }

  schedules(): Promise<readonly ScheduleRecord[]> {
    return this.#link.call('schedules');
  }

  openSchedules(_: readonly ScheduleOpening[]): Promise<boolean> {
    return refuse('schedule()');
  }

  claim(): Promise<ClaimResult> {
    return refuse('schedule()');
  }

  registered(): Promise<readonly string[]> {
    return this.#link.call('registered');
  }

  processes(): Promise<readonly ConnectedProcess[]> {
    return this.#link.call('processes');
  }

  revision(type?: string): Promise<string> {
    return this.#link.call('revision', type);
  }

  async close(): Promise<CloseResult> {
    this.#closing.abort();
    await this.#link.close();
    return { released: 0, overdue: 0 };
  }
}

function refuse(operation: string): Promise<never> {
  return Promise.reject(new FileObserverError(operation));
}

function withoutThrown<T extends Outcome>(outcome: T): T {
  return 'thrown' in outcome ? { ...outcome, thrown: undefined } : outcome;
}
