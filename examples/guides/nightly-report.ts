import { createHub, createWorkflow, type Hub, type HubOptions, type ScheduleTimes } from 'hubline';
import { z } from 'zod';

/** Sources and receiver of the report. */
export interface Services {
  sales(day: string): Promise<number>;
  refunds(day: string): Promise<number>;
  send(report: { day: string; net: number }): Promise<void>;
}

const everyNight: ScheduleTimes = { cron: '0 2 * * *', timeZone: 'Europe/Oslo' };

/** Creates a hub that sends the report of the previous day each night at two o'clock in Oslo. */
export function createReportHub(
  { sales, refunds, send }: Services,
  times: ScheduleTimes = everyNight,
  options: HubOptions = {},
): Hub {
  const hub = createHub({ service: 'reports', ...options });
  const report = createWorkflow({
    name: 'report',
    input: z.object({ day: z.iso.date() }),
    run: async ({ input: { day }, step }) => {
      const [sold, refunded] = await Promise.all([
        step.run('sales', () => sales(day), { retry: { maxAttempts: 5 } }),
        step.run('refunds', () => refunds(day), { retry: { maxAttempts: 5 } }),
      ]);
      await step.run('send', () => send({ day, net: sold - refunded }), { retry: { maxAttempts: 5 } });
      return { net: sold - refunded };
    },
  });
  hub.workflow(report);
  hub.schedule({
    name: 'nightly-report',
    ...times,
    start: report,
    payload: (dueAt) => ({ day: new Date(dueAt.getTime() - 86_400_000).toISOString().slice(0, 10) }),
  });
  return hub;
}
