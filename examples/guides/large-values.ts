import { createEvent, createHub, createWorkflow, folderBlobs, type Hub, type HubOptions } from 'hubline';

/** A scanned contract. */
export interface Scan {
  contract: string;
  /** Pages as base64. */
  pages: string[];
}

export const scanned = createEvent<Scan>({ type: 'contract.scanned' });

/** Creates a hub that reads scanned contracts. Scans and texts are files in a folder, the transport has references. */
export function createScanHub(
  folder: string,
  readPage: (page: string) => Promise<string>,
  options: HubOptions = {},
): Hub {
  const hub = createHub({ service: 'scans', blobs: folderBlobs(folder), blobsAboveBytes: 100_000, ...options });
  hub.event(scanned);
  hub.workflow(
    createWorkflow({
      name: 'read-contract',
      trigger: scanned,
      run: async ({ input, step }) => {
        const texts = await step.map('page', input.pages, (page) => readPage(page));
        return { contract: input.contract, text: texts.join('\n') };
      },
    }),
  );
  return hub;
}
