import { randomUUID } from 'node:crypto';
import { DuplicateNameError, HubError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { Timer } from '../../transports/clock.js';
import type { Logger, TransportManager } from '../../transports/transport.js';
import type { Health, Problem } from '../introspection/health.js';

/** Message about a problem of the hub. Contains no payload. */
export interface Alert {
  /** Id of this message. A repetition of the same message, after a failure of `send`, has the same id. */
  readonly id: string;
  /** Id of the problem from its first to its last message. */
  readonly incident: string;
  /** `firing` once the problem has lasted `afterMs`, and each `repeatMs` after that; `resolved` when it is gone. */
  readonly status: 'firing' | 'resolved';
  /** 1 for the first message of status `firing`; the number of the last one if the problem is resolved. */
  readonly count: number;
  /** The problem as it is; as it was last if it is resolved. */
  readonly problem: Problem;
  /** Epoch milliseconds at which the alert first saw the problem. */
  readonly since: number;
  /** Epoch milliseconds of this message. */
  readonly at: number;
  /** Name of the alert. */
  readonly name: string;
  /** Service whose process sends. */
  readonly service: string;
}

/** Options of `hub.alert`. */
export interface AlertOptions {
  /** Name of the alert among those of the service: processes with the same name share it. @default 'default' */
  name?: string;
  /** Chooses the problems that the alert is about. @default all problems of `hub.health()` */
  when?: (problem: Problem) => boolean;
  /** Time for which a problem must last before the first message, in milliseconds, 0 or more. */
  afterMs: number;
  /** Time between two messages about a problem that lasts, in milliseconds, 1,000 or more. @default no repetition */
  repeatMs?: number;
  /**
   * Sends a message. One that it throws or rejects for, or that does not settle within 30 seconds, is sent again with the
   * same `id`, after 1 second, then 2, 4 and so on, at most a minute. Messages about one problem are sent in their order.
   *
   * @param options `signal` aborts after 30 seconds, and when the hub stops
   */
  send: (alert: Alert, options: { readonly signal: AbortSignal }) => unknown;
}

/** Problem that an alert follows. */
interface Followed {
  readonly incident: string;
  readonly problem: Problem;
  /** Time at which it was first seen. */
  readonly since: number;
  /** Messages of status `firing` so far, the unsent one included. */
  readonly count: number;
  /** Message that is not sent yet. */
  readonly unsent?: Alert;
  /** Time of the last message. */
  readonly lastAt?: number;
}

/** Value in the key-value store: the process that sends, and what it follows. */
interface AlertState {
  readonly leader: string;
  /** Epoch milliseconds until which it leads. */
  readonly until: number;
  readonly followed: Readonly<Record<string, Followed>>;
}

/** Message that this process sends. */
interface Sending {
  readonly id: string;
  isRunning: boolean;
  readonly tries: number;
  /** Monotonic time before which it is not sent again. */
  retryAt: number;
}

/** `send` did not settle in time. */
class AlertTimeoutError extends HubError {
  constructor() {
    super('ERR_ALERT_TIMEOUT', `send of an alert did not settle within ${sendTimeoutMs} ms`);
  }
}

const checkMs = 1_000;
/** After so long without a check, another process takes over. */
const leaseMs = 5_000;
const sendTimeoutMs = 30_000;
const maxRetryMs = 60_000;
/** State of an alert that no process checks any more. */
const retainMs = 7 * 86_400_000;
const noState: AlertState = { leader: '', until: 0, followed: {} };

/** Parts of a hub that its alerts use. */
export interface AlertsParts {
  readonly transport: Pick<TransportManager, 'service' | 'clock' | 'kv'>;
  readonly logger: Logger;
  /** Id of the hub among all hubs of the transport. */
  readonly hubId: string;
  readonly health: () => Promise<Health>;
}

/** Alerts of a hub. */
export class Alerts {
  readonly #parts: AlertsParts;
  readonly #alerts = new Map<string, RunningAlert>();
  #isOpen = false;

  constructor(parts: AlertsParts) {
    this.#parts = parts;
  }

  /** @throws {InvalidOptionError | DuplicateNameError} */
  add(options: AlertOptions): void {
    const check = new OptionChecker(options, ['name', 'when', 'afterMs', 'repeatMs', 'send'], 'alert');
    const { name = 'default', when, afterMs, repeatMs, send } = options;
    check.name('name', name);
    check.function('when', when);
    check.required('afterMs', afterMs);
    check.durationMs('afterMs', afterMs);
    check.durationMs('repeatMs', repeatMs, { min: checkMs });
    check.required('send', send);
    check.function('send', send);
    if (this.#alerts.has(name)) throw new DuplicateNameError('alert', name);
    const alert = new RunningAlert(name, options, this.#parts);
    this.#alerts.set(name, alert);
    if (this.#isOpen) alert.start();
  }

  /** Begins to check. */
  open(): void {
    this.#isOpen = true;
    for (const alert of this.#alerts.values()) alert.start();
  }

  /** Ends the checks, and lets another process take over at once. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await Promise.all([...this.#alerts.values()].map((alert) => alert.stop()));
  }
}

/** One alert in one process. Of the processes of the service, the one that leads checks and sends. */
class RunningAlert {
  readonly #name: string;
  readonly #key: string;
  readonly #options: AlertOptions;
  readonly #parts: AlertsParts;
  readonly #sending = new Map<string, Sending>();
  #timer: Timer | undefined;
  #checking: Promise<void> = Promise.resolve();
  #stopped = new AbortController();
  #hasFailed = false;

  constructor(name: string, options: AlertOptions, parts: AlertsParts) {
    this.#name = name;
    this.#key = `hubline:alert:${JSON.stringify([parts.transport.service, name])}`;
    this.#options = options;
    this.#parts = parts;
  }

  start(): void {
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#stopped.abort();
    await this.#checking;
    const { kv } = this.#parts.transport;
    await this.#change((state) => (state.leader === this.#parts.hubId ? { ...state, until: 0 } : undefined), kv).catch(
      () => {},
    );
  }

  #schedule(): void {
    this.#timer = this.#parts.transport.clock.after(checkMs, () => {
      this.#checking = this.#check()
        .then(() => {
          this.#hasFailed = false;
        })
        .catch((err: unknown) => {
          if (!this.#hasFailed) this.#parts.logger.warn({ err, alert: this.#name }, 'alert could not be checked');
          this.#hasFailed = true;
        })
        .then(() => {
          if (!this.#stopped.signal.aborted) this.#schedule();
        });
    });
    this.#timer.unref?.();
  }

  async #check(): Promise<void> {
    const { transport, hubId, health } = this.#parts;
    const { kv } = transport;
    const now = await kv.now();
    const isLeader = await this.#change(
      (state) =>
        state.leader === hubId || state.until <= now ? { ...state, leader: hubId, until: now + leaseMs } : undefined,
      kv,
    );
    if (!isLeader) return;
    const { problems, problemCount } = await health();
    const { when } = this.#options;
    const meant = when === undefined ? problems : problems.filter((problem) => when(problem));
    const current = new Map(meant.map((problem) => [keyOf(problem), problem]));
    // Of a longer list, nobody knows if a problem that it had is gone.
    const isComplete = problemCount === problems.length;
    let followed: AlertState['followed'] = {};
    await this.#change((state) => {
      if (state.leader !== hubId) return undefined;
      followed = this.#follow(state.followed, current, isComplete, now);
      return JSON.stringify(followed) === JSON.stringify(state.followed) ? undefined : { ...state, followed };
    }, kv);
    for (const [key, { unsent }] of Object.entries(followed)) if (unsent !== undefined) this.#send(key, unsent);
  }

  /** Returns what is followed after a check. */
  #follow(
    before: AlertState['followed'],
    current: ReadonlyMap<string, Problem>,
    isComplete: boolean,
    now: number,
  ): AlertState['followed'] {
    const followed = new Map<string, Followed>();
    for (const [key, known] of Object.entries(before)) {
      const problem = current.get(key);
      const next =
        problem === undefined ? this.#absent(known, isComplete, now) : this.#lasting({ ...known, problem }, now);
      if (next !== undefined) followed.set(key, next);
    }
    for (const [key, problem] of current) {
      if (followed.has(key)) continue;
      followed.set(key, this.#lasting({ incident: randomUUID(), problem, since: now, count: 0 }, now));
    }
    return Object.fromEntries(followed);
  }

  /** A problem that is gone is forgotten, after the message about it. */
  #absent(known: Followed, isComplete: boolean, now: number): Followed | undefined {
    // An earlier message is sent first.
    if (known.unsent !== undefined || !isComplete) return known;
    if (known.count === 0) return undefined;
    return { ...known, unsent: this.#alertOf(known, 'resolved', now) };
  }

  #lasting(known: Followed, now: number): Followed {
    const { afterMs, repeatMs = Number.POSITIVE_INFINITY } = this.#options;
    const { unsent, since, lastAt } = known;
    // A problem that comes back while `resolved` is sent is a new one, after that.
    const isDue = lastAt === undefined ? now - since >= afterMs : now - lastAt >= repeatMs;
    if (unsent !== undefined || !isDue) return known;
    const counted = { ...known, count: known.count + 1, lastAt: now };
    return { ...counted, unsent: this.#alertOf(counted, 'firing', now) };
  }

  #alertOf({ incident, problem, since, count }: Followed, status: Alert['status'], at: number): Alert {
    const { service } = this.#parts.transport;
    const id = `${incident}.${status === 'resolved' ? 'resolved' : count}`;
    return { id, incident, status, count, problem, since, at, name: this.#name, service };
  }

  /** Sends a message in the background, unless this process is about it: checks go on meanwhile. */
  #send(key: string, alert: Alert): void {
    const now = this.#parts.transport.clock.monotonic();
    const before = this.#sending.get(key);
    if (before?.id === alert.id && (before.isRunning || now < before.retryAt)) return;
    const tries = before?.id === alert.id ? before.tries + 1 : 1;
    const sending: Sending = { id: alert.id, isRunning: true, tries, retryAt: 0 };
    this.#sending.set(key, sending);
    void this.#deliver(alert)
      .then(async () => {
        await this.#markSent(key, alert);
        this.#sending.delete(key);
      })
      .catch((err: unknown) => {
        sending.isRunning = false;
        sending.retryAt = this.#parts.transport.clock.monotonic() + Math.min(maxRetryMs, checkMs * 2 ** (tries - 1));
        if (this.#stopped.signal.aborted) return;
        this.#parts.logger.error(
          { err, alert: alert.name, alertId: alert.id, tries },
          'alert could not be sent, will retry',
        );
      });
  }

  async #deliver(alert: Alert): Promise<void> {
    const late = new AbortController();
    const timer = this.#parts.transport.clock.after(sendTimeoutMs, () => late.abort(new AlertTimeoutError()));
    timer.unref?.();
    const signal = AbortSignal.any([late.signal, this.#stopped.signal]);
    try {
      await Promise.race([this.#options.send(alert, { signal }), aborted(signal)]);
    } finally {
      timer.cancel();
    }
  }

  /** Also if another process leads by now, so that it does not send the message again. */
  async #markSent(key: string, { id, status }: Alert): Promise<void> {
    await this.#change((state) => {
      const known = state.followed[key];
      if (known?.unsent?.id !== id) return undefined;
      const { unsent: _, ...rest } = known;
      const { [key]: __, ...others } = state.followed;
      return { ...state, followed: status === 'resolved' ? others : { ...others, [key]: rest } };
    }, this.#parts.transport.kv);
  }

  /** @param update returns the state after the change; `undefined` if there is nothing to change */
  async #change(update: (state: AlertState) => AlertState | undefined, kv: TransportManager['kv']): Promise<boolean> {
    for (;;) {
      const text = await kv.get(this.#key);
      const changed = update(parseState(text));
      if (changed === undefined) return false;
      if (await kv.compareAndSet(this.#key, text, JSON.stringify(changed), { ttlMs: retainMs })) return true;
    }
  }
}

/** Identity of a problem: what stays while it lasts. */
function keyOf({ kind, eventType, workflow, service, schedule }: Problem): string {
  return JSON.stringify([kind, eventType, workflow, service, schedule]);
}

function parseState(text: string | undefined): AlertState {
  // Only alerts write the value.
  return text === undefined ? noState : (JSON.parse(text) as AlertState);
}

/** Rejects with the reason of a signal. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = (): void => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
