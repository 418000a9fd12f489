import { OptionChecker } from '../options.js';
import type { Outcome } from '../transports/delivery.js';
import { waitingOf } from '../transports/statistics/backlog.js';
import type { CloseResult, Logger, TransportManager } from '../transports/transport.js';

/** Counts the attempts of a process. */
export interface AttemptTally {
  begin(): void;
  /** @param status `lost` if the attempt recorded no outcome */
  end(status: Outcome['status'] | 'lost'): void;
}

/** Options of `hub.work`. */
export interface WorkOptions {
  /**
   * Milliseconds after which the hub starts no further handler. The drain follows, so that a call takes at most this time
   * and `drainMs`.
   */
  forMs: number;
  /**
   * Milliseconds without a handler that runs or starts after which the hub is idle. Delays, retries and waits that end
   * later are left to the next call. @default 1_000
   */
  idleMs?: number;
  /** Milliseconds to wait for handlers that still run after `forMs`, as in `hub.stop`. @default 10_000 */
  drainMs?: number;
}

/** Result of `hub.work`: what this process did. */
export interface WorkResult extends CloseResult {
  /** Number of events and runs that completed. */
  readonly completed: number;
  /** Number of events and runs that failed terminally. */
  readonly failed: number;
  /** Number of failed attempts of events that are retried later. */
  readonly retried: number;
  /** Reason for the end: nothing was left to do, `forMs` had passed, or another caller called `stop`. */
  readonly endedBy: 'idle' | 'time' | 'stop';
}

/** Checked {@link WorkOptions} with defaults. */
export type WorkSettings = Required<WorkOptions>;

const defaultIdleMs = 1_000;
const longestLookMs = 250;
const shortestLookMs = 10;
// What waits and does not start is held by something: a rate, its key, or a store that is slow.
const waitingIdles = 5;

/** Checks the options of `hub.work`. @throws {InvalidOptionError} */
export function resolveWork(options: WorkOptions): WorkSettings {
  const check = new OptionChecker(options, ['forMs', 'idleMs', 'drainMs'], 'work');
  const { forMs, idleMs = defaultIdleMs, drainMs = 10_000 } = options;
  check.required('forMs', forMs);
  check.durationMs('forMs', forMs, { min: 1 });
  check.durationMs('idleMs', idleMs, { min: 1 });
  check.durationMs('drainMs', drainMs);
  return { forMs, idleMs, drainMs };
}

/** Parts of a hub that its work uses. */
export interface WorkParts {
  readonly transport: Pick<TransportManager, 'service' | 'clock' | 'counts'>;
  readonly logger: Logger;
  /** Types that the hub handles, with the windows of their rates. */
  readonly types: readonly { readonly type: string; readonly perMs?: number | undefined }[];
  /** Nothing of the type may start. */
  readonly isHeld: (type: string) => boolean;
  /** A due time of a schedule is being claimed. */
  readonly isClaiming: () => boolean;
  /** Aborts when the hub has stopped. */
  readonly stopped: AbortSignal;
}

/** Attempts of a process from its start, and the time since it does nothing. */
export class Workload implements AttemptTally {
  #running = 0;
  #started = 0;
  readonly counts = { completed: 0, failed: 0, retried: 0 };

  begin(): void {
    this.#running += 1;
    this.#started += 1;
  }

  end(status: Outcome['status'] | 'lost'): void {
    this.#running -= 1;
    if (status === 'completed' || status === 'failed') this.counts[status] += 1;
    else if (status === 'retry') this.counts.retried += 1;
  }

  /** Resolves when the hub is idle, or after `forMs`, or when the hub has stopped. */
  async ended({ forMs, idleMs }: WorkSettings, parts: WorkParts): Promise<WorkResult['endedBy']> {
    const { clock } = parts.transport;
    const lookMs = Math.min(idleMs, Math.max(shortestLookMs, Math.min(longestLookMs, idleMs / 4)));
    const endAt = clock.monotonic() + forMs;
    let started = this.#started;
    // Counted in looks at the store: one that is slow, or a process that stands still, is not idle.
    let quietMs = 0;
    for (;;) {
      await untilDue(Math.min(lookMs, Math.max(0, endAt - clock.monotonic())), parts);
      const idleAfterMs = await idleAfter(idleMs, parts);
      if (parts.stopped.aborted) return 'stop';
      const isQuiet = this.#running === 0 && this.#started === started && !parts.isClaiming();
      quietMs = isQuiet ? quietMs + lookMs : 0;
      started = this.#started;
      if (quietMs >= idleAfterMs) return 'idle';
      if (clock.monotonic() >= endAt) return 'time';
    }
  }
}

function untilDue(ms: number, { transport, stopped }: WorkParts): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) {
      resolve();
      return;
    }
    const timer = transport.clock.after(ms, () => {
      stopped.removeEventListener('abort', end);
      resolve();
    });
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    stopped.addEventListener('abort', end, { once: true });
  });
}

/** Returns the milliseconds without a start after which the hub is idle, given what waits for its start. */
async function idleAfter(
  idleMs: number,
  { transport: { service, counts }, types, isHeld, logger }: WorkParts,
): Promise<number> {
  const free = types.filter(({ type }) => !isHeld(type));
  try {
    const found = await counts.get(free.map(({ type }) => type));
    const patienceMs = free.map(({ perMs = 0 }, index) => {
      const own = found[index]?.services.find((each) => each.service === service)?.counts;
      if (own === undefined) return 0;
      return waitingOf(own) > 0 ? Math.max(perMs + idleMs, waitingIdles * idleMs) : 0;
    });
    return Math.max(idleMs, ...patienceMs);
  } catch (err) {
    logger.warn({ err }, 'counts could not be read, so work goes on');
    return Number.POSITIVE_INFINITY;
  }
}
