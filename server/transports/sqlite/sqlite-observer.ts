import { setTimeout as delay } from 'node:timers/promises';
import { errorInfo } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import { type Clock, systemClock } from '../clock.js';
import { type Codec, CodedTransport, resolveCodec } from '../codec.js';
import type { DeadLetterFilter, ErasedPayloads, EventRecord, RecentEvents, RequestRecords } from '../event-record.js';
import type { KeyValueStore } from '../key-values.js';
import { checkRetireArguments, retireResult } from '../services.js';
import type { EventMetrics, FailureRecord, RangeCounts, TypeDurations } from '../statistics/stats.js';
import {
  type ClaimResult,
  type CloseResult,
  type CommitResult,
  type ConnectedProcess,
  type ConsumeOptions,
  type DeadLetterRecord,
  type Envelope,
  type FailedOutcome,
  type Logger,
  type Outcome,
  type Overview,
  type OverviewQuery,
  type Receipt,
  type RunRecord,
  type ScheduleOpening,
  type ScheduleRecord,
  silentLogger,
  type TransportManager,
  type TypeCounts,
} from '../transport.js';
import { FileLink, type LinkSettings } from './file-link.js';
import { FileObserverError } from './sqlite-errors.js';
import { checkFile } from './sqlite-options.js';
import { backUpFile, type SqliteTransport } from './sqlite-transport.js';

/** Options of {@link sqliteObserver}. */
export interface SqliteObserverOptions {
  /** Path of the database file, which must exist. */
  file: string;
  /** Maximum time in milliseconds to wait for the process that owns the file. @default 10_000 */
  timeoutMs?: number;
  /** The codec of the transport that owns the file. @default stored as JSON text */
  codec?: Codec;
  /** Source of time; a fake clock in tests. @default the system clock */
  clock?: Clock;
}

/**
 * Creates a transport for hubs without handlers on a file that another process owns. Reads, and calls of `emit`,
 * `replay`, `cancel`, `erase` and `retire`, are carried out by that process. If no process owns the file, reads come from
 * the file, and the other calls own it for their duration.
 *
 * Every call rejects with `TransportUnavailableError` if the owner does not answer, and with `FileAccessError`,
 * `CorruptFileError`, `NewerFileError`, `OlderFileError`, `UnsupportedSqliteError` or `MissingPackageError` if the file
 * cannot be used.
 *
 * @example
 * ```ts
 * const hub = createHub({ service: 'shop', observer: true, transport: sqliteObserver({ file: 'shop.db' }) });
 * ```
 * @throws {InvalidOptionError}
 */
export function sqliteObserver(options: SqliteObserverOptions): SqliteTransport {
  const check = new OptionChecker(options, ['file', 'timeoutMs', 'codec', 'clock'], 'sqliteObserver');
  const { file, timeoutMs = 10_000, clock = systemClock } = options;
  checkFile(check, file);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  const codec = resolveCodec(options.codec, check);
  const settings = { file, timeoutMs, clock };
  return {
    connect({ service, logger }) {
      const manager = new ObserverManager(service, settings, logger);
      return codec === undefined ? manager : new CodedTransport(manager, codec);
    },
    async retire(service, retireOptions = {}) {
      checkRetireArguments(service, retireOptions);
      const link = new FileLink(settings, service, silentLogger);
      try {
        return retireResult(await link.call('retire', retireOptions), service, retireOptions);
      } finally {
        await link.close();
      }
    },
    backup: (path) => backUpFile(file, path),
  };
}

// Time between two reads of the state of a run.
const watchIntervalMs = 250;

/** Connection of a hub without handlers to a file that another process owns. */
class ObserverManager implements TransportManager {
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
