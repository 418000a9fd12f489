import { setTimeout as delay } from 'node:timers/promises';
import { createWorkflow, defineWorkflow, type Hub, type WorkflowDefinition } from 'hubline';
import { readLedger, writeLedger } from '../workers/ledger.js';

/** Number of steps of a run, which waits for `go` in the middle. */
export const parts = 8;

/** Workflow that publishes what it does. */
export const live: WorkflowDefinition<unknown, void> = defineWorkflow({ name: 'live', service: 'shop' });

/** Registers the workflow; in the variant `web RUN` follows the live output of a run from where the ledger ends. */
export function publishLive(hub: Hub, ledger: string, variant: string): (() => Promise<void>) | void {
  const [, runId] = variant.split(' ');
  if (runId !== undefined) return async () => void follow(hub, ledger, runId);
  hub.event({ type: 'go' });
  hub.workflow(
    createWorkflow(live, {
      run: async ({ step }) => {
        for (let part = 0; part < parts; part += 1) {
          if (part === parts / 2) await step.waitForEvent('go', 'go');
          await step.publish({ begin: part });
          await step.run(`part ${part}`, async ({ publish }) => {
            await publish({ half: part });
            await delay(Math.random() * 300);
            await publish({ whole: part });
          });
        }
      },
    }),
  );
}

async function follow(hub: Hub, ledger: string, runId: string): Promise<void> {
  const from = readLedger(ledger).filter(({ what }) => what.startsWith('{')).length;
  for await (const event of hub.stream(runId, { from })) {
    const what = event.type === 'data' ? JSON.stringify(event.data) : event.type;
    writeLedger(ledger, what, String(event.sequence), event.type === 'data' ? (event.attempt ?? 0) : 0);
  }
}
