import { InvalidOptionError } from '../../errors.js';
import type { Timer } from '../../transports/clock.js';
import { deriveId } from '../../transports/derived-ids.js';
import type { Logger } from '../../transports/transport.js';
import { AttemptEndedError } from '../errors.js';
import { createLimit, type Limit } from '../limits/limit.js';
import { longestWaitMs, type Permit } from '../limits/limit-keeper.js';
import { type AttemptEmitter, type HandlerHost, LazyCtx } from './attempt-ctx.js';
import type { EmitOptions, EventRef } from './emit.js';
import { type CallCallbacks, HandlerCall } from './handler-call.js';

/** Size of the batches that a handler receives. */
export interface BatchOptions {
  /** Maximum number of events per call, from 1 to 1,000. A batch of 4 MiB of payloads takes no further event. */
  max: number;
  /** Maximum time in milliseconds for which an event waits in its process for others, from 1 to 60,000. */
  waitMs: number;
}

/** Event of a batch. */
export interface BatchEvent<TPayload = unknown> {
  readonly id: string;
  /** Key of the event; `undefined` if it has none. */
  readonly key: string | undefined;
  /** Payload as the schema returned it. */
  readonly payload: TPayload;
  /** Correlation id shared by all events that one request causes. */
  readonly requestId: string;
  /** Number of the attempt at this event, from 1. */
  readonly attempt: number;
}

/**
 * Emits an event caused by one of a batch, with its `requestId`, together with the outcome of that one. Throws what
 * {@link CtxEmit} throws.
 */
export type BatchEmit = <TPayload = unknown>(
  cause: BatchEvent,
  event: EventRef<TPayload, unknown> | string,
  payload: NoInfer<TPayload>,
  options?: EmitOptions,
) => Promise<{ readonly id: string }>;

/** Context of one call with a batch. */
export interface BatchCtx {
  readonly eventType: string;
  /** Aborts at `timeoutMs`, when the hub stops and releases the events, and when all events were cancelled. */
  readonly signal: AbortSignal;
  /** Logger of the hub. Adds `eventType` and the number of events as `batch` to each line if the hub's logger has `child`. */
  readonly logger: Logger;
  /**
   * Fails one event of the batch when the handler has returned: it is retried, or fails for good, as if a handler of its
   * own had thrown the error. The others complete.
   *
   * @throws {InvalidOptionError} if the event is not one of the batch
   * @throws {AttemptEndedError} after the call has ended
   */
  fail(event: BatchEvent, error: unknown): void;
  readonly emit: BatchEmit;
}

/** Handles a batch. Throwing fails each event of it. */
export type BatchHandlerFunction<TPayload = unknown> = (
  events: readonly BatchEvent<TPayload>[],
  ctx: BatchCtx,
) => unknown;

/** Attempt at one event of a batch. */
export interface BatchMember {
  readonly event: BatchEvent;
  /** Size of the payload in bytes. */
  readonly bytes: number;
  readonly emitter: AttemptEmitter;
  /** Notes that the handler starts. */
  begin(): void;
  complete(): void;
  /** Retries the event, or fails it. */
  fail(error: unknown): void;
  /** Returns the event to the transport without spending an attempt. */
  release(delayMs: number): void;
}

/** Place of an attempt in a batch. */
export interface Membership {
  /** Handler that ran on after its timeout or abort; `undefined` if there is none. */
  readonly unfinished: Promise<void> | undefined;
  /** Takes the attempt out. Returns a promise of the handler if it runs, which never rejects. */
  leave(reason: Error): Promise<void> | undefined;
}

/** Settings of the batches of a type. */
export interface BatchSettings {
  readonly type: string;
  readonly batch: BatchOptions;
  readonly timeoutMs?: number;
  readonly concurrency?: number;
  readonly concurrencyPerKey?: number;
  readonly limit?: Limit;
  /** Events wait until none of their key has arrived for `ms`, at most `maxMs`. */
  readonly debounce?: { readonly ms: number; readonly maxMs?: number };
  readonly handler: BatchHandlerFunction;
}

/** Payloads with which a batch takes no further event, in bytes of UTF-8. */
const maxBatchBytes = 4 * 1_024 * 1_024;

/** Number of batches that run at once in a process, unless the type has a `concurrency`. */
export const defaultBatchConcurrency = 10;

interface WaitingMember {
  readonly member: BatchMember;
  readonly since: number;
  batch: Batch | undefined;
}

/** Events of a key that wait, or of the type if no limit per key keeps keys apart. */
interface Group {
  readonly key: string | undefined;
  waiting: WaitingMember[];
  /** Size of their payloads. */
  waitingBytes: number;
  running: number;
  timer: Timer | undefined;
}

/** Events of a key of which another one may follow soon. */
interface OpenWindow {
  readonly openedAt: number;
  waiting: WindowMember[];
  timer: Timer;
}

interface WindowMember {
  readonly member: BatchMember;
  /** Its place once the window has closed. */
  membership: Membership | undefined;
}

/** Collects the events of one type that this process received, and calls the handler with batches of them. */
export class BatchCollector {
  readonly #settings: BatchSettings;
  readonly #host: HandlerHost;
  readonly #concurrency: number;
  readonly #groups = new Map<string | undefined, Group>();
  /** Groups whose batch is full, or has waited long enough, in that order. */
  readonly #due = new Set<Group>();
  /** Open debounce windows by key. */
  readonly #windows = new Map<string | undefined, OpenWindow>();
  #running = 0;
  #isFlushing = false;

  constructor(settings: BatchSettings, host: HandlerHost) {
    this.#settings = settings;
    this.#host = host;
    this.#concurrency = settings.concurrency ?? defaultBatchConcurrency;
  }

  add(member: BatchMember): Membership {
    const { debounce } = this.#settings;
    if (debounce === undefined || this.#isFlushing) return this.#collect(member);
    const { clock } = this.#host.transport;
    const { key } = member.event;
    const now = clock.monotonic();
    const { openedAt = now, waiting = [], timer } = this.#windows.get(key) ?? {};
    timer?.cancel();
    const entered: WindowMember = { member, membership: undefined };
    waiting.push(entered);
    const closesAt = Math.min(now + debounce.ms, openedAt + (debounce.maxMs ?? Number.POSITIVE_INFINITY));
    this.#windows.set(key, { openedAt, waiting, timer: clock.after(closesAt - now, () => this.#closeWindow(key)) });
    return {
      get unfinished() {
        return entered.membership?.unfinished;
      },
      leave: (reason) => {
        if (entered.membership !== undefined) return entered.membership.leave(reason);
        const window = this.#windows.get(key);
        if (window !== undefined) window.waiting = window.waiting.filter((other) => other !== entered);
        return undefined;
      },
    };
  }

  #closeWindow(key: string | undefined): void {
    const window = this.#windows.get(key);
    if (window === undefined) return;
    window.timer.cancel();
    this.#windows.delete(key);
    for (const entered of window.waiting) entered.membership = this.#collect(entered.member);
  }

  #collect(member: BatchMember): Membership {
    const key = this.#settings.concurrencyPerKey === undefined ? undefined : member.event.key;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { key, waiting: [], waitingBytes: 0, running: 0, timer: undefined };
      this.#groups.set(key, group);
    }
    const waiting: WaitingMember = { member, since: this.#host.transport.clock.monotonic(), batch: undefined };
    group.waiting.push(waiting);
    group.waitingBytes += member.bytes;
    this.#schedule(group);
    const own = group;
    return {
      get unfinished() {
        return waiting.batch?.unfinished;
      },
      leave: (reason) => {
        if (waiting.batch !== undefined) return waiting.batch.leave(member, reason);
        const left = own.waiting.filter((other) => other !== waiting);
        if (left.length < own.waiting.length) own.waitingBytes -= member.bytes;
        own.waiting = left;
        this.#forget(own);
        return undefined;
      },
    };
  }

  /** Lets no event wait for others any more: the hub stops. */
  flush(): void {
    this.#isFlushing = true;
    for (const key of [...this.#windows.keys()]) this.#closeWindow(key);
    for (const group of this.#groups.values()) this.#schedule(group);
  }

  #schedule(group: Group): void {
    const [first] = group.waiting;
    if (first === undefined || this.#due.has(group)) return;
    const { max, waitMs } = this.#settings.batch;
    const { clock } = this.#host.transport;
    const leftMs = first.since + waitMs - clock.monotonic();
    const isFull = group.waiting.length >= max || group.waitingBytes > maxBatchBytes;
    if (!this.#isFlushing && leftMs > 0 && !isFull) {
      group.timer ??= clock.after(leftMs, () => {
        group.timer = undefined;
        this.#schedule(group);
      });
      return;
    }
    group.timer?.cancel();
    group.timer = undefined;
    this.#due.add(group);
    this.#pump();
  }

  /** Starts the batches that are due while there are slots. */
  #pump(): void {
    const { concurrencyPerKey = Number.POSITIVE_INFINITY, batch } = this.#settings;
    for (const group of this.#due) {
      if (this.#running >= this.#concurrency) return;
      if (group.key !== undefined && group.running >= concurrencyPerKey) continue;
      this.#due.delete(group);
      const taken = group.waiting.splice(0, sizeOfNext(group, batch.max));
      for (const { member } of taken) group.waitingBytes -= member.bytes;
      if (taken.length > 0) this.#start(group, taken);
      this.#schedule(group);
    }
  }

  #start(group: Group, taken: readonly WaitingMember[]): void {
    this.#running += 1;
    group.running += 1;
    const batch = new Batch(
      this.#settings,
      this.#host,
      taken.map(({ member }) => member),
      group.key,
    );
    for (const each of taken) each.batch = batch;
    void batch.run().finally(() => {
      this.#running -= 1;
      group.running -= 1;
      this.#forget(group);
      this.#pump();
    });
  }

  #forget(group: Group): void {
    if (group.waiting.length > 0) return;
    group.timer?.cancel();
    group.timer = undefined;
    this.#due.delete(group);
    if (group.running === 0) this.#groups.delete(group.key);
  }
}

/** Returns the number of events in the next batch of a group. */
function sizeOfNext({ waiting }: Group, max: number): number {
  let bytes = 0;
  const end = waiting.findIndex(({ member }, index) => {
    bytes += member.bytes;
    // The first one has its place in any case.
    return index === max || (index > 0 && bytes > maxBatchBytes);
  });
  return end === -1 ? waiting.length : end;
}

/** One call of a handler with a batch. */
class Batch implements CallCallbacks {
  readonly #settings: BatchSettings;
  readonly #host: HandlerHost;
  readonly #key: string | undefined;
  /** Events that have neither an outcome nor lost their lease. */
  readonly #members: Map<BatchEvent, BatchMember>;
  readonly #failed = new Map<BatchEvent, unknown>();
  #call: HandlerCall | undefined;
  #hasEnded = false;
  #finish = (): void => {};
  /** Resolves when the handler has returned, or is not called. */
  readonly #returned: Promise<void> = new Promise((resolve) => {
    this.#finish = resolve;
  });

  constructor(settings: BatchSettings, host: HandlerHost, members: readonly BatchMember[], key: string | undefined) {
    this.#settings = settings;
    this.#host = host;
    this.#key = key;
    this.#members = new Map(members.map((member) => [member.event, member]));
  }

  /** Resolves when the handler has returned, and its permits are free. Never rejects. */
  async run(): Promise<void> {
    const permits: Permit[] = [];
    try {
      for (const limit of this.#limits()) {
        const isOver = (): boolean => this.#members.size === 0;
        const permit = await this.#host.agentParts.limits.acquire(limit, { maxWaitMs: longestWaitMs, isOver });
        if (typeof permit === 'number') {
          this.#endEach((member) => member.release(permit));
          return;
        }
        permits.push(permit);
      }
      if (this.#members.size === 0) return;
      this.#invoke();
      await this.#returned;
    } catch (error) {
      this.#endEach((member) => member.fail(error));
    } finally {
      // The next batch of the key takes them: one that waited too long would let later events pass.
      await Promise.all(permits.map((permit) => permit.release()));
    }
  }

  get unfinished(): Promise<void> | undefined {
    return this.#call?.unfinished;
  }

  leave({ event }: BatchMember, reason: Error): Promise<void> | undefined {
    this.#members.delete(event);
    if (this.#call === undefined) return undefined;
    if (this.#members.size === 0 && !this.#hasEnded) {
      this.#hasEnded = true;
      this.#call.cancel(reason);
      this.#finishAfterCall();
    }
    return this.#returned;
  }

  onReturn(): void {
    this.#hasEnded = true;
    this.#endEach((member) => {
      if (this.#failed.has(member.event)) member.fail(this.#failed.get(member.event));
      else member.complete();
    });
    this.#finish();
  }

  onThrow(error: unknown): void {
    this.#hasEnded = true;
    this.#endEach((member) => member.fail(this.#failed.has(member.event) ? this.#failed.get(member.event) : error));
    this.#finishAfterCall();
  }

  /** A handler that ignores its timeout or abort runs on. */
  #finishAfterCall(): void {
    const { unfinished } = this;
    if (unfinished === undefined) this.#finish();
    else void unfinished.then(this.#finish);
  }

  #endEach(end: (member: BatchMember) => void): void {
    const members = [...this.#members.values()];
    this.#members.clear();
    for (const member of members) end(member);
  }

  #invoke(): void {
    const { type, timeoutMs, handler } = this.#settings;
    const call = new HandlerCall(type, timeoutMs, this.#host.transport.clock, this);
    this.#call = call;
    const events = [...this.#members.keys()];
    for (const member of this.#members.values()) member.begin();
    const context = new BatchContext(type, events.length, this.#host.logger, {
      fail: (event, error) => {
        this.#memberOf(event, 'ctx.fail');
        this.#failed.set(event, error);
      },
      emit: async (cause, ...args) => this.#memberOf(cause, 'ctx.emit').emitter.emit(...args),
    });
    call.invoke((ctx: BatchContext) => handler(events, ctx), context);
  }

  #memberOf(event: BatchEvent, operation: string): BatchMember {
    if (this.#hasEnded) throw new AttemptEndedError(operation);
    const member = this.#members.get(event);
    if (member === undefined)
      throw new InvalidOptionError(`event of ${operation}`, 'an event of the batch', event, 'type');
    return member;
  }

  /** Limits of which the batch takes one permit each, over all processes. */
  #limits(): readonly Limit[] {
    const { type, limit, concurrency, concurrencyPerKey } = this.#settings;
    const { service } = this.#host.transport;
    const limits = limit === undefined ? [] : [limit];
    // The names are hashes: those of keys are not stored as they are.
    if (concurrency !== undefined) limits.push(createLimit({ name: deriveId(service, type, 'batches'), concurrency }));
    if (concurrencyPerKey !== undefined && this.#key !== undefined) {
      const name = deriveId(service, `${type}\u001f${this.#key}`, 'batches of a key');
      limits.push(createLimit({ name, concurrency: concurrencyPerKey }));
    }
    return limits;
  }
}

/** Context of a call with a batch. */
class BatchContext extends LazyCtx implements BatchCtx {
  readonly eventType: string;
  readonly fail: BatchCtx['fail'];
  readonly emit: BatchEmit;
  readonly #size: number;

  constructor(eventType: string, size: number, logger: Logger, functions: Pick<BatchCtx, 'fail' | 'emit'>) {
    super(logger);
    this.eventType = eventType;
    this.#size = size;
    this.fail = functions.fail;
    this.emit = functions.emit;
  }

  protected override get logFields(): object {
    return { eventType: this.eventType, batch: this.#size };
  }
}
