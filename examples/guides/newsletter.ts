import { createHub, createWorkflow, type Hub, type HubOptions } from 'hubline';
import { z } from 'zod';

/** Mail service and its recipients. */
export interface Services {
  recipients(): Promise<readonly string[]>;
  /** Returns `false` if the address does not exist. */
  mail(recipient: string, issue: number, idempotencyKey: string): Promise<boolean>;
  tell(summary: string): Promise<void>;
}

/** Creates a hub that mails each published issue to all recipients, and then one summary. */
export function createNewsletterHub({ recipients, mail, tell }: Services, options: HubOptions = {}): Hub {
  const hub = createHub({ service: 'mail', ...options });
  const published = hub.event({ type: 'issue.published', schema: z.object({ issue: z.int() }) });
  hub.workflow(
    createWorkflow({
      name: 'newsletter',
      trigger: published,
      run: async ({ input: { issue }, step }) => {
        const everyone = await step.run('recipients', () => recipients());
        const accepted = await step.map(
          'mail',
          everyone,
          (recipient, { idempotencyKey }) => mail(recipient, issue, idempotencyKey),
          { concurrency: 20, retry: { maxAttempts: 3, initialDelayMs: 50 } },
        );
        const sent = accepted.filter(Boolean).length;
        await step.run('summary', () => tell(`issue ${issue}: ${sent} of ${everyone.length} sent`));
      },
    }),
  );
  return hub;
}
