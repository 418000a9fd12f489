import { setTimeout as delay } from 'node:timers/promises';
import { OptionChecker } from '../../options.js';
import type { BoundedLog } from '../../transports/bounded-log.js';
import type { EventStatus } from '../../transports/event-record.js';
import { outputLog } from '../../transports/stored-keys.js';
import { isCancellation, UnknownRunError } from '../errors.js';
import { parseOutput } from '../events/live-output.js';
import { Changes, findSource, type WatchHost } from './watch-run.js';

/** Entry, gap or end of live output. Yielded by `hub.stream`. */
export type StreamEvent<TData = unknown> =
  | {
      readonly type: 'data';
      /** Position in the output, from 0. Pass the next number as `from` to continue after it. */
      readonly sequence: number;
      /** Time at which it was stored, in epoch milliseconds. */
      readonly at: number;
      /** Published data. */
      readonly data: TData;
      /** Step whose attempt published it; absent for `step.publish` and for handlers of events. */
      readonly step?: string;
      /** Number of that attempt, from 1; absent for `step.publish`. */
      readonly attempt?: number;
      /** First entry of that attempt: what earlier attempts of the step published is repeated from here on. */
      readonly begins?: true;
    }
  /** Entries were dropped before the reader came to them. `sequence` is the next one that is retained. */
  | { readonly type: 'missed'; readonly missed: number; readonly sequence: number }
  /** The last event. `sequence` is the number of all entries. */
  | { readonly type: 'end'; readonly status: 'completed' | 'failed' | 'cancelled'; readonly sequence: number };

/** Options of `hub.stream`. */
export interface StreamOptions {
  /** Sequence number of the first entry to yield. @default 0 */
  from?: number;
  /** Service that handles the event, if several do. @default the hub's, or else the first one that is found */
  service?: string;
  /** Ends the loop, which throws the signal's reason. The run goes on. */
  signal?: AbortSignal;
}

/** Checks the options of `hub.stream`. @throws {InvalidOptionError} */
export function checkStreamOptions(options: StreamOptions): void {
  const check = new OptionChecker(options, ['from', 'service', 'signal'], 'stream');
  const { from = 0, service, signal } = options;
  check.that(Number.isSafeInteger(from) && from >= 0, 'from', 'a sequence number, from 0', from);
  check.name('service', service);
  check.that(signal === undefined || signal instanceof AbortSignal, 'signal', 'an AbortSignal', signal);
}

/** Hub that reads live output. */
export interface StreamHost extends WatchHost {
  readonly service: string;
  readonly log: BoundedLog;
}

const pageEntries = 500;
// Nothing announces the end of an event that is no run.
const endIntervalMs = 1_000;

type EndStatus = Extract<StreamEvent, { type: 'end' }>['status'];
type Ended = { readonly status: EndStatus } | { readonly error: unknown };

/** Implements {@link Hub.stream}. */
export async function* streamRun<TData>(
  id: string,
  host: StreamHost,
  options: StreamOptions,
): AsyncGenerator<StreamEvent<TData>, void, void> {
  const stop = new AbortController();
  const signal = AbortSignal.any([host.stopped, stop.signal, options.signal ?? stop.signal]);
  const source = await findOutput(id, host, signal, options.service);
  const name = outputLog(source.service, id);
  const changes = new Changes<Ended>();
  const end = source.ended(signal).then(
    (status) => changes.end({ status }),
    (error: unknown) => changes.end({ error }),
  );
  let unwatch = (): void => {};
  let position = options.from ?? 0;
  try {
    unwatch = await host.log.watch(name, () => changes.add());
    for (;;) {
      await changes.next();
      // Looked at before the read: all that was published is stored when the end is.
      const { ended } = changes;
      if (ended !== undefined && 'error' in ended) throw ended.error;
      for (;;) {
        const { entries, first, next } = await host.log.read(name, { from: position, limit: pageEntries });
        // The log has expired, and began again.
        if (next < position) position = 0;
        else if (first > position) {
          yield { type: 'missed', missed: first - position, sequence: first };
          position = first;
        }
        for (const { sequence, at, text } of entries) {
          const { data, step, attempt, begins } = parseOutput(text);
          const place = { ...(step !== undefined && { step }), ...(attempt !== undefined && { attempt }) };
          // The caller says what its run publishes.
          yield { type: 'data', sequence, at, data: data as TData, ...place, ...(begins && { begins }) };
          position = sequence + 1;
        }
        if (position >= next) break;
      }
      if (ended === undefined) continue;
      yield { type: 'end', status: ended.status, sequence: position };
      return;
    }
  } finally {
    unwatch();
    stop.abort();
    await end;
  }
}

/**
 * Returns the sequence number with which the last attempt at each step begins, of what is stored of a run now: what the
 * step published before is repeated.
 */
export async function lastAttempts(log: BoundedLog, service: string, id: string): Promise<Map<string, number>> {
  const begins = new Map<string, number>();
  for (let from = 0; ; ) {
    const { entries, next } = await log.read(outputLog(service, id), { from, limit: pageEntries });
    for (const { sequence, text } of entries) {
      const { step, begins: isFirst } = parseOutput(text);
      if (isFirst === true && step !== undefined) begins.set(step, sequence);
      from = sequence + 1;
    }
    if (entries.length === 0 || from >= next) return begins;
  }
}

/** Event or run that publishes. */
interface OutputSource {
  readonly service: string;
  /** Resolves when it has ended. Rejects with the signal's reason. */
  ended(signal: AbortSignal): Promise<EndStatus>;
}

/** @throws {UnknownRunError} */
async function findOutput(
  id: string,
  host: StreamHost,
  signal: AbortSignal,
  service: string | undefined,
): Promise<OutputSource> {
  const { lookup, runs } = host;
  const events = (await lookup.find(id)).filter((event) => service === undefined || event.service === service);
  const found = events.find((event) => event.service === host.service) ?? events[0];
  if (found !== undefined && found.run === undefined) {
    return { service: found.service, ended: (end) => eventEnd(id, found.service, host, end) };
  }
  const { type, service: owner = host.service } = found ?? (await findSource(id, host, signal));
  return {
    service: owner,
    async ended(end) {
      const record = await runs.ended(type, id, end, owner);
      if (record === undefined) throw new UnknownRunError(undefined, id);
      return endStatus(isCancellation(record.error) ? 'cancelled' : record.status);
    },
  };
}

/** Resolves when an event that is no run has ended, or is no longer retained. */
async function eventEnd(
  id: string,
  service: string,
  { lookup }: Pick<StreamHost, 'lookup'>,
  signal: AbortSignal,
): Promise<EndStatus> {
  for (;;) {
    signal.throwIfAborted();
    const event = (await lookup.find(id)).find((each) => each.service === service);
    if (event === undefined || event.endedAt !== undefined) return endStatus(event?.status);
    await delay(endIntervalMs, undefined, { signal }).catch(() => {});
  }
}

function endStatus(status: EventStatus | undefined): EndStatus {
  return status === 'failed' || status === 'cancelled' ? status : 'completed';
}
