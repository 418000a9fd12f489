import { open } from 'node:fs/promises';
import { exportRun } from '../../hub/runs/exported-run.js';
import { workflowType } from '../../transports/delivery.js';
import type { CommandContext } from '../command-context.js';
import { ExitError, exitCodes, formatCount } from '../terminal.js';

/** Options of `hubline export`. */
export interface ExportFlags {
  readonly payload?: boolean;
  readonly out: string;
  readonly limit: number;
}

/**
 * Writes the suspended runs of one or all workflows to a new file that only its owner may read.
 *
 * @throws {ExitError} if there is no such workflow, or the file exists or cannot be created
 */
export async function exportRuns(
  { connection, terminal, json }: CommandContext,
  workflow: string | undefined,
  { payload = false, out, limit }: ExportFlags,
): Promise<void> {
  const hub = await connection.hub();
  const { workflows } = await hub.introspect();
  const types = workflows.filter(({ name }) => name === (workflow ?? name)).map(({ name }) => workflowType(name));
  if (types.length === 0) {
    const wanted = workflow === undefined ? 'a workflow' : `the workflow ${workflow}`;
    throw new ExitError(exitCodes.notFound, `No process has registered ${wanted} here.`);
  }
  const { runs } = hub.transport;
  const waiting = (await runs.waiting(types, limit)).flat();
  const file = await open(out, 'wx', 0o600).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'exists; remove it, or pass --out' : `cannot be created: ${code}`;
    throw new ExitError(exitCodes.failed, `The file ${out} ${reason}.`);
  });
  let written = 0;
  try {
    // One run at a time: together they may be larger than the memory.
    for (const { envelope, id, service } of waiting) {
      const record = await runs.get(envelope.type, id, service);
      if (record === undefined || record.endedAt !== undefined) continue;
      await file.write(`${written === 0 ? '[' : ','}\n${JSON.stringify(exportRun(record, payload))}`);
      written += 1;
    }
    await file.write(written === 0 ? '[]\n' : '\n]\n');
  } finally {
    await file.close();
  }
  if (json) terminal.json({ file: out, runs: written });
  else terminal.line(`Wrote ${formatCount(written, 'run')} to ${out}.`);
}
