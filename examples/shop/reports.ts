import type { Hub } from 'hubline';
import { simulateWork } from './simulate.js';

const everyMs = 15_000;

/** Registers the report on sales, which a schedule emits. */
export function registerReports(hub: Hub): void {
  const due = hub.event<{ until: string }>({
    type: 'report.due',
    description: `Sums up the sales, every ${everyMs / 1_000} seconds.`,
    retry: { maxAttempts: 3 },
    async handler({ payload, signal, logger }) {
      await simulateWork(signal, 100, 400);
      logger.info({ until: payload.until }, 'sales report sent');
    },
  });
  hub.schedule({
    name: 'sales-report',
    description: 'Requests the report on sales.',
    everyMs,
    emit: due,
    payload: (dueAt) => ({ until: dueAt.toISOString() }),
  });
}
