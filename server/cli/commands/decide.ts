import { NoApprovalError } from '../../hub/errors.js';
import { type ActorFlags, actorOf, type CommandContext } from '../command-context.js';
import { ExitError, exitCodes } from '../terminal.js';

/** Options of `hubline approve` and `hubline refuse`. */
export interface DecideFlags extends ActorFlags {
  readonly step?: string;
}

/** Decides on the call of a tool that a run waits for. @throws {ExitError} unless exactly one call is meant */
export async function decide(
  context: CommandContext,
  id: string,
  approved: boolean,
  { step, ...flags }: DecideFlags,
): Promise<void> {
  const { connection, terminal, json } = context;
  const hub = await connection.hub();
  const options = { approved, ...actorOf(context, flags), ...(step !== undefined && { step }) };
  const decided = await hub.decide(id, options).catch((error: unknown) => {
    if (!NoApprovalError.is(error)) throw error;
    const names = error.steps.map((one) => `--step '${one}'`).join(', ');
    if (names !== '') {
      throw new ExitError(exitCodes.usage, `${id} waits for several approvals: pass one of ${names}.`);
    }
    const at = step === undefined ? '' : ` at the step ${step}`;
    throw new ExitError(exitCodes.notFound, `${id} waits for no approval${at}.`);
  });
  if (json) terminal.json({ id, ...decided, approved });
  else terminal.line(`${approved ? 'Approved' : 'Refused'} ${decided.step} of ${id}.`);
}
