import type { Hub } from 'hubline';

/** Writes a line per step of a run as it is recorded, whichever process runs it, and returns the status of the run. */
export async function followRun(hub: Hub, runId: string, write: (line: string) => void): Promise<string> {
  for await (const event of hub.watch(runId)) {
    if (event.type === 'run-end') return event.run.status;
    const { name, status, waitsFor } = event.step;
    write(waitsFor?.event === undefined ? `${name}: ${status}` : `${name}: waits for ${waitsFor.event.type}`);
  }
  return 'unknown';
}
