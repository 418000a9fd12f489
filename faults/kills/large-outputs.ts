import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  createWorkflow,
  defineWorkflow,
  folderBlobs,
  type Hub,
  type HubOptions,
  type WorkflowDefinition,
} from 'hubline';
import { writeLedger } from '../workers/ledger.js';

/** Number of steps of a run, each with an output that goes to the blob store. */
export const largeOutputs = 6;

/** Workflow whose outputs go to the blob store. */
export const large: WorkflowDefinition<number, string> = defineWorkflow({ name: 'large', service: 'shop' });

/** Returns the folder of the blob store. */
export function blobFolder(ledger: string): string {
  return join(ledger, 'blobs');
}

/** Returns the options of a hub that stores large contents in a folder beside the ledger. */
export function blobOptions(ledger: string): HubOptions {
  return { blobs: folderBlobs(blobFolder(ledger)), blobsAboveBytes: 1_000 };
}

/** Registers the workflow. A run writes the lengths of its outputs as it has read them again. */
export function storeLarge(hub: Hub, ledger: string): void {
  hub.workflow(
    createWorkflow(large, {
      run: async ({ input, step }) => {
        const outputs: string[] = [];
        for (let n = 0; n < largeOutputs; n += 1) {
          outputs.push(
            await step.run(`step ${n}`, async () => {
              await delay(Math.random() * 100);
              return `${n} `.repeat(1_000 + input);
            }),
          );
        }
        const text = outputs.join('');
        await step.run('read', () => writeLedger(ledger, 'read', `${text.length}`));
        return text;
      },
    }),
  );
}
