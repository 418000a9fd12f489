import { FatalError, type Hub, memoryTransport } from 'hubline';
import { createFakeClock, type FakeClock } from 'hubline/testing';
import type { DashboardSetup } from '../testing/start-dashboard.js';

const minuteMs = 60_000;

/** Minutes that the hub lives, and the current one. */
export const DAY_MINUTES = 24 * 60;

/** Duration of a handler that waits. */
export const HANDLER_MS = 200;

/** Events of a type in one minute. */
interface Minute {
  readonly received: number;
  readonly failed: number;
  readonly retried: number;
}

/** Counts of a period. */
export interface Sum extends Minute {
  readonly completed: number;
}

const NOTHING: Minute = { received: 0, failed: 0, retried: 0 };

/** Events of each type in a minute of the day. */
const PLAN: Readonly<Record<string, (minute: number) => Minute>> = {
  'order.created': (minute) => ({ ...NOTHING, received: 2 + (minute % 7) }),
  // Fails once in a while, and often in the last minutes.
  'payment.requested': (minute) => ({
    ...NOTHING,
    received: 3 + (minute % 3),
    failed: minute > DAY_MINUTES - 4 ? 2 : minute % 97 === 0 ? 1 : 0,
  }),
  'mail.queued': (minute) => ({ ...NOTHING, received: minute % 2, retried: minute % 10 === 9 ? 1 : 0 }),
  'stock.low': () => NOTHING,
};

/** Types of the ledger. */
export const TYPES: readonly string[] = Object.keys(PLAN);

/** Time at which the hub starts. */
export const DAY_START: number = Date.UTC(2026, 0, 1);

/** Hub that has lived for a day. */
export interface DayHub {
  readonly clock: FakeClock;
  readonly setup: DashboardSetup;
  /** Lives the day, and half of the minute after it. */
  live(hub: Hub): Promise<void>;
}

/** Creates a hub whose events are all known. */
export function dayHub(): DayHub {
  const clock = createFakeClock(DAY_START);
  const register = (hub: Hub): void => {
    hub.event({
      type: 'order.created',
      handler: () => new Promise<void>((resolve) => clock.after(HANDLER_MS, resolve)),
    });
    hub.event<{ fails: boolean }>({
      type: 'payment.requested',
      handler({ payload }) {
        if (payload.fails) throw new FatalError('card declined');
      },
    });
    hub.event<{ fails: boolean }>({
      type: 'mail.queued',
      retry: { maxAttempts: 2, initialDelayMs: 1_000, jitter: false },
      handler({ payload, attempt }) {
        if (payload.fails && attempt === 1) throw new Error('mailbox is busy');
      },
    });
    hub.event({ type: 'stock.low' });
    hub.event({ type: 'report.due', handler: () => {} });
  };
  return {
    clock,
    setup: { register, hubOptions: { transport: memoryTransport({ clock }), concurrency: 64 } },
    async live(hub) {
      for (let minute = 0; minute <= DAY_MINUTES; minute += 1) {
        for (const [type, plan] of Object.entries(PLAN)) {
          const { received, failed, retried } = plan(minute);
          for (let n = 0; n < received; n += 1) await hub.emit(type, { fails: n < failed + retried });
        }
        if (minute === DAY_MINUTES - 5) await hub.emit('report.due', {}, { delayMs: 48 * 60 * minuteMs });
        await clock.advance(minuteMs / 2);
        if (minute < DAY_MINUTES) await clock.advance(minuteMs / 2);
      }
    },
  };
}

/** Sums a type's events from a minute to another, which is not part of the sum. */
export function sumOf(types: readonly string[], from: number, to: number): Sum {
  let [received, failed, retried] = [0, 0, 0];
  for (let minute = Math.max(0, from); minute < to; minute += 1) {
    for (const type of types) {
      const counts = PLAN[type]?.(minute) ?? NOTHING;
      received += counts.received;
      failed += counts.failed;
      retried += counts.retried;
    }
    if (types === TYPES && minute === DAY_MINUTES - 5) received += 1;
  }
  const pending = types === TYPES && from <= DAY_MINUTES - 5 && to > DAY_MINUTES - 5 ? 1 : 0;
  return { received, completed: received - failed - pending, failed, retried };
}
