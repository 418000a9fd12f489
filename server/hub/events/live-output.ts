import { ignoreRejection } from '../../errors.js';
import type { BoundedLog, LogBounds } from '../../transports/bounded-log.js';
import type { Clock, Timer } from '../../transports/clock.js';
import { BackpressureError } from '../../transports/errors.js';
import { outputLog } from '../../transports/stored-keys.js';
import type { Logger } from '../../transports/transport.js';
import { AttemptEndedError } from '../errors.js';
import { takeSnapshot } from './payload.js';

/**
 * Adds one entry to the live output of a run or an event, which `hub.stream` yields in any process. `data` is JSON. Resolves
 * when the entry is buffered: within 50 milliseconds it is stored, and in any case before the next result or outcome
 * is recorded. `{ progress, message }`, a number from 0 to 1 and a text, is shown on the dashboard too.
 *
 * @throws {PayloadNotJsonError | PayloadTooLargeError} if `data` is no JSON, or larger than 512 KiB or `maxPayloadBytes`
 * @throws {AttemptEndedError} after the attempt
 * @throws {BackpressureError} if the caller awaits no `publish` and 10,000 entries or 4 MiB are not stored yet
 */
export type Publish = (data: unknown) => Promise<void>;

/** Joins an entry that is not stored yet with the next one of its attempt; `undefined` if they stay apart. */
export type JoinOutput = (before: unknown, next: unknown) => unknown;

/** As {@link Publish}, for text deltas, which may be joined. */
export type PublishJoined = (data: unknown, join?: JoinOutput) => Promise<void>;

/** Progress that an event or a run published last. */
export interface Progress {
  /** From 0 to 1. */
  readonly progress: number;
  /** At most 200 characters. */
  readonly message?: string;
}

/** Entry as the log has it. */
export interface OutputEntry {
  readonly data: unknown;
  /** Step whose attempt published it; `undefined` for `step.publish` and for handlers. */
  readonly step?: string;
  /** Attempt of the step or the event, from 1; absent for `step.publish`. */
  readonly attempt?: number;
  /** First entry of its attempt. */
  readonly begins?: true;
  /** Number of entries of `step.publish` so far, in the last entry of each call of the store. */
  readonly published?: number;
  /** Last progress, in the last entry of each call of the store. */
  readonly last?: Progress;
}

const maxEntries = 10_000;
const maxBytes = 4 * 1024 * 1024;
const maxDataBytes = 512 * 1024;
// Publishers wait while more is not stored, and a call of the store has no more.
const callEntries = 1_000;
const callBytes = 1024 * 1024;
const joinMs = 50;
const maxMessageLength = 200;
const dayMs = 86_400_000;
// The transport deletes that of a run with the run. Nothing else says when a plain event is no longer retained.
const runAgeMs = 30 * dayMs;
const eventAgeMs = dayMs / 24;

/** Part of a hub that live output uses. */
export interface OutputHost {
  readonly transport: { readonly service: string; readonly clock: Clock; readonly log: BoundedLog };
  readonly logger: Logger;
  readonly maxPayloadBytes: number;
}

/** Event or run that publishes. */
export interface OutputSubject {
  readonly id: string;
  readonly requestId: string;
  readonly type: string;
}

interface Buffered {
  readonly head: Omit<OutputEntry, 'data' | 'published' | 'last'>;
  /** JSON of the data. */
  readonly json: string;
  /** Data that may be joined with what follows. */
  readonly data: unknown;
  readonly bytes: number;
  readonly writer: OutputWriter | undefined;
  /** Number of an entry of `step.publish`, from 1: a function publishes in the same order whenever it is called. */
  readonly number: number | undefined;
}

/** Live output of one delivery: buffers entries, and stores them in one log, which all deliveries of the subject share. */
export class LiveOutput {
  readonly #subject: OutputSubject;
  readonly #host: OutputHost;
  readonly #name: string;
  readonly #bounds: LogBounds;
  #buffer: Buffered[] = [];
  #bytes = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  /** Resolve when there is room. */
  #waiting: (() => void)[] = [];
  /** Number of entries of `step.publish` that are stored; `undefined` until the log was read. */
  #stored: number | undefined;
  #published = 0;
  #last: Progress | undefined;
  #hasWarned = false;

  constructor(subject: OutputSubject, isRun: boolean, host: OutputHost) {
    this.#subject = subject;
    this.#host = host;
    this.#name = outputLog(host.transport.service, subject.id);
    this.#bounds = { maxEntries, maxBytes, maxAgeMs: isRun ? runAgeMs : eventAgeMs };
  }

  /** Returns what an attempt publishes with. @param step id of the step, if it is an attempt at one */
  writer(step: string | undefined, attempt: number): OutputWriter {
    const head = { ...(step !== undefined && { step }), attempt };
    return new OutputWriter((data, writer, join) => {
      const begins = writer.hasBegun ? {} : ({ begins: true } as const);
      return this.#add(data, { ...head, ...begins }, { writer, join });
    });
  }

  /**
   * Publishes as the function of a run, which is called again with each delivery: what an earlier delivery stored is not
   * stored again.
   *
   * @returns `undefined` if there is room for more
   */
  publish(data: unknown): Promise<void> | undefined {
    this.#published += 1;
    return this.#published <= (this.#stored ?? 0) ? undefined : this.#add(data, {}, { number: this.#published });
  }

  /** Forgets what is not stored: another delivery has the event or the run. */
  discard(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#buffer = [];
    this.#bytes = 0;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Stores what is buffered. Returns `undefined` if there is nothing to store. Never rejects. */
  flush(): Promise<void> | undefined {
    return this.#buffer.length === 0 && this.#sending === undefined ? undefined : this.#flush();
  }

  async #flush(): Promise<void> {
    while (this.#buffer.length > 0 || this.#sending !== undefined) await this.#send();
  }

  #add(
    data: unknown,
    head: Buffered['head'],
    { writer, number, join }: { writer?: OutputWriter; number?: number; join?: JoinOutput | undefined },
  ): Promise<void> | undefined {
    const refused = (error: unknown): Promise<void> => {
      this.#warn(error, 'live output refused');
      return Promise.reject(error);
    };
    try {
      const before = join && this.#buffer.at(-1);
      const joined = before?.writer === writer && before?.data !== undefined ? join?.(before.data, data) : undefined;
      if (joined !== undefined && before !== undefined) {
        this.#put({ ...before, ...this.#encode(joined), data: joined }, before);
        return undefined;
      }
      if (this.#buffer.length >= maxEntries || this.#bytes >= maxBytes) {
        const limit = `${maxEntries} entries or ${maxBytes} bytes`;
        return refused(new BackpressureError('live output that is not stored', limit));
      }
      this.#put({ head, ...this.#encode(data), data: join && data, writer, number });
      writer?.begin();
    } catch (error) {
      return refused(error);
    }
    this.#last = progressOf(data) ?? this.#last;
    this.#schedule();
    if (this.#buffer.length < callEntries && this.#bytes < callBytes) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Adds an entry to the buffer. @param before last entry, which the new one takes the place of */
  #put(entry: Buffered, before?: Buffered): void {
    if (before !== undefined) this.#buffer.pop();
    this.#buffer.push(entry);
    this.#bytes += entry.bytes - (before?.bytes ?? 0);
  }

  #encode(data: unknown): Pick<Buffered, 'json' | 'bytes'> {
    const maximum = Math.min(this.#host.maxPayloadBytes, maxDataBytes);
    const { json, size } = takeSnapshot(data, this.#subject.type, maximum, 'data of publish');
    return { json, bytes: size };
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#sending !== undefined) return;
    const { clock } = this.#host.transport;
    const waitMs = this.#sentAt + joinMs - clock.monotonic();
    const send = (): void => {
      this.#timer = undefined;
      void this.#send();
    };
    this.#timer = waitMs > 0 ? clock.after(waitMs, send) : clock.soon(send);
  }

  #send(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#store().finally(() => {
      this.#sending = undefined;
      if (this.#buffer.length > 0) this.#schedule();
    });
    return this.#sending;
  }

  /** Stores one portion of the buffer. If the store fails, the portion is lost. */
  async #store(): Promise<void> {
    const { log, clock } = this.#host.transport;
    const portion = this.#take();
    try {
      const stored = this.#stored ?? (await this.#readStored());
      const entries = portion.filter(({ number }) => number === undefined || number > stored);
      const published = Math.max(stored, ...entries.map(({ number = 0 }) => number));
      this.#sentAt = clock.monotonic();
      if (entries.length > 0) {
        const texts = entries.map(({ head, json }, index) => {
          const last = this.#last && { last: this.#last };
          const tail = index === entries.length - 1 ? { ...(published > 0 && { published }), ...last } : {};
          const fields = JSON.stringify({ ...head, ...tail }).slice(1, -1);
          return `{"data":${json}${fields === '' ? '' : `,${fields}`}}`;
        });
        await log.append(this.#name, texts, this.#bounds);
        this.#stored = published;
      }
    } catch (error) {
      this.#warn(error, 'live output could not be stored');
    } finally {
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }

  #take(): readonly Buffered[] {
    let [count, bytes] = [0, 0];
    for (const entry of this.#buffer) {
      if (count === callEntries || (count > 0 && bytes + entry.bytes > callBytes)) break;
      count += 1;
      bytes += entry.bytes;
    }
    this.#bytes -= bytes;
    return this.#buffer.splice(0, count);
  }

  /** Reads what earlier deliveries stored. Nothing is stored of a log that has expired: all is stored again. */
  async #readStored(): Promise<number> {
    const newest = await readNewest(this.#host.transport.log, this.#name);
    this.#last ??= newest?.last;
    this.#stored = newest?.published ?? 0;
    return this.#stored;
  }

  /** Logs the first failure of the delivery. */
  #warn(err: unknown, message: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { id, requestId, type } = this.#subject;
    this.#host.logger.warn({ err, requestId, eventType: type, eventId: id }, message);
  }
}

/** Returns the promise of a `publish`. The caller may not await it, and the output is not worth the process. */
export function unobserved(published: Promise<void> | undefined): Promise<void> {
  if (published === undefined) return Promise.resolve();
  ignoreRejection(published);
  return published;
}

type AddEntry = (data: unknown, writer: OutputWriter, join?: JoinOutput) => Promise<void> | undefined;

/** Publishes as one attempt, until it ends. */
export class OutputWriter {
  hasBegun = false;
  readonly #add: AddEntry;
  #isClosed = false;

  constructor(add: AddEntry) {
    this.#add = add;
  }

  readonly publish: PublishJoined = (data, join) => {
    const ended = this.#isClosed && Promise.reject(new AttemptEndedError('ctx.publish'));
    return unobserved(ended || this.#add(data, this, join));
  };

  begin(): void {
    this.hasBegun = true;
  }

  close(): void {
    this.#isClosed = true;
  }
}

/** Returns the newest entry of a log of live output. */
async function readNewest(log: BoundedLog, name: string): Promise<OutputEntry | undefined> {
  const { next } = await log.read(name, { from: Number.MAX_SAFE_INTEGER, limit: 1 });
  if (next === 0) return undefined;
  const { entries } = await log.read(name, { from: next - 1, limit: 1 });
  return entries[0] && parseOutput(entries[0].text);
}

/** Returns the last progress that an event or a run published. */
export async function readProgress(log: BoundedLog, service: string, id: string): Promise<Progress | undefined> {
  return (await readNewest(log, outputLog(service, id)))?.last;
}

/** Parses an entry of a log of live output. */
export function parseOutput(text: string): OutputEntry {
  // `LiveOutput` is the only writer.
  return JSON.parse(text) as OutputEntry;
}

function progressOf(data: unknown): Progress | undefined {
  const { progress, message } = Object(data) as { readonly progress?: unknown; readonly message?: unknown };
  if (typeof progress !== 'number' || !(progress >= 0 && progress <= 1)) return undefined;
  return { progress, ...(typeof message === 'string' && { message: message.slice(0, maxMessageLength) }) };
}
