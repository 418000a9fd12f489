import { type ActorFlags, actorOf, type CommandContext } from '../command-context.js';
import { ExitError, exitCodes } from '../terminal.js';

/** Options of `hubline fork`. */
export interface ForkFlags extends ActorFlags {
  readonly from: string;
  readonly service?: string;
}

/** Starts a new run with what an ended run recorded before a step. @throws {ExitError} unless exactly one run is meant */
export async function fork(
  context: CommandContext,
  id: string,
  { from: fromStep, service: named, ...flags }: ForkFlags,
): Promise<void> {
  const { connection, terminal, json } = context;
  const hub = await connection.hub();
  const runs = (await hub.find(id)).filter(({ steps }) => steps !== undefined);
  const [run, ...others] = named === undefined ? runs : runs.filter(({ service }) => service === named);
  if (run === undefined) {
    const place = named === undefined ? '' : ` in ${named}`;
    throw new ExitError(exitCodes.notFound, `No run with the id ${id} is retained${place}.`);
  }
  if (others.length > 0) {
    const names = runs.map((each) => `--service '${each.service}'`).join(', ');
    throw new ExitError(exitCodes.usage, `${id} is a run in several services: pass one of ${names}.`);
  }
  const { service } = run;
  const forked = await hub.fork(id, { fromStep, service, ...actorOf(context, flags) });
  if (json) terminal.json({ ...forked, service, forkOf: { runId: id, step: fromStep } });
  else terminal.line(`Forked ${id} from ${fromStep}: ${forked.id} (${service})`);
}
