import { setTimeout as delay } from 'node:timers/promises';
import { errorInfo } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import { type Clock, systemClock } from '../clock.js';
import { type Codec, resolveCodec } from '../codec.js';
import { connectCoded } from '../coded-transport.js';
import type { Outcome } from '../delivery.js';
import { forwardParts, type PartName, type TransportParts } from '../parts.js';
import { checkRetireArguments, retireResult } from '../services.js';
import { isPlainKey } from '../stored-keys.js';
import { type RunStore, silentLogger, type TransportManager } from '../transport.js';
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
      const link = new FileLink(settings, service, logger);
      // The first write of all says how keys are stored, also if it is one of an observer.
      const { kv } = forwardParts((call, args) => link.callPart(call, args));
      return connectCoded(connectObserver(service, settings, link), codec, kv);
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

/** Parts that the owner of the file alone changes. */
const ownersParts: ReadonlySet<PartName> = new Set(['schedules', 'kv', 'log']);
/** Changes of these parts that other processes ask the owner for. */
const outsideChanges: ReadonlySet<string> = new Set(['put', 'remove']);

/** Creates the connection of a hub without handlers to a file that another process owns. */
function connectObserver(service: string, settings: LinkSettings, link: FileLink): TransportManager {
  const closing = new AbortController();
  const parts = forwardParts((call, args) => {
    const { part, method, effect } = call;
    const isOutside = isPlainKey(part, args[0]) || outsideChanges.has(method);
    const isOwners = effect === 'change' && ownersParts.has(part) && !isOutside;
    const isRefused = effect === 'local' || isOwners;
    // Users call `hub.schedule`, and the other parts themselves.
    const operation = part === 'schedules' ? 'schedule()' : `${part}.${method}()`;
    return isRefused ? refuse(operation) : link.callPart(call, args);
  });
  return {
    name: 'sqlite',
    service,
    clock: settings.clock,
    ...parts,
    runs: observedRuns(parts, link, closing.signal),
    log: {
      ...parts.log,
      async watch(_name, onAppend) {
        const stopped = new AbortController();
        // A look at the log costs as much as one at what has changed.
        void repeat(AbortSignal.any([stopped.signal, closing.signal]), onAppend);
        return () => stopped.abort();
      },
    },
    async start({ subscriptions, declared = [], onRegister }) {
      if (subscriptions.length > 0) return refuse('start() with handlers');
      if (declared.some(({ subscribers }) => subscribers.length > 0)) return refuse('start() with subscribers');
      await link.open();
      await onRegister?.();
    },
    publish: (envelopes) => link.call('publish', envelopes),
    // It starts nothing.
    async pause() {},
    async close() {
      closing.abort();
      await link.close();
      return { released: 0, overdue: 0 };
    },
  };
}

// Time between two looks at the state of a run or a log.
const watchIntervalMs = 250;

/** Calls `look` again and again, until the signal aborts. */
async function repeat(signal: AbortSignal, look: () => unknown): Promise<void> {
  for (;;) {
    await delay(watchIntervalMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    await look();
  }
}

/** Returns runs of which this process reads the changes itself. @param closing aborts when the connection closes */
function observedRuns({ runs, counts }: TransportParts, link: FileLink, closing: AbortSignal): RunStore {
  return {
    ...runs,
    async watch(type, _id, onChange) {
      const stopped = new AbortController();
      const signal = AbortSignal.any([stopped.signal, closing]);
      let known = await counts.revision(type);
      void repeat(signal, async () => {
        // The next look repeats a read that failed.
        const found = await counts.revision(type).catch(() => known);
        if (found !== known && !signal.aborted) onChange();
        known = found;
      });
      return () => stopped.abort();
    },
    async ended(type, id, signal, service) {
      for (;;) {
        signal.throwIfAborted();
        const run = await runs.get(type, id, service);
        if (run === undefined || run.endedAt !== undefined) return run;
        await delay(watchIntervalMs, undefined, { signal }).catch(() => {});
      }
    },
    end: (type, id, outcome, reason, service) =>
      link.call(
        'endRun',
        type,
        id,
        withoutThrown(outcome),
        errorInfo(reason),
        ...(service === undefined ? [] : [service]),
      ),
    async cancel(id, conclude, service) {
      const of = service === undefined ? ([] as const) : ([service] as const);
      const envelope = await link.call('findCancellable', id, ...of);
      return envelope !== undefined && link.call('cancel', id, withoutThrown(conclude(envelope)), ...of);
    },
  };
}

function refuse(operation: string): Promise<never> {
  return Promise.reject(new FileObserverError(operation));
}

function withoutThrown<T extends Outcome>(outcome: T): T {
  return 'thrown' in outcome ? { ...outcome, thrown: undefined } : outcome;
}
