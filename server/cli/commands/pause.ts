import type { PauseTarget } from '../../hub/pauses.js';
import { type ActorFlags, actorOf, type CommandContext } from '../command-context.js';
import { ExitError, exitCodes } from '../terminal.js';

/** Options of `hubline pause` and `hubline resume` that name the target, of which one is given. */
export interface TargetFlags extends ActorFlags {
  readonly type?: string;
  readonly workflow?: string;
  readonly schedule?: string;
  readonly service?: string;
}

/** Pauses an event type, a workflow, a schedule or a service. */
export async function pause(context: CommandContext, flags: TargetFlags): Promise<void> {
  const { connection, terminal, json } = context;
  const { target, text } = targetOf(flags);
  const { reason } = flags;
  if (reason === undefined) throw new ExitError(exitCodes.usage, 'error: pass a --reason');
  const hub = await connection.hub();
  await hub.pause(target, { ...actorOf(context, flags), reason });
  if (json) terminal.json({ paused: target });
  else terminal.line(`Paused ${text}.`);
}

/** Resumes what `pause` paused. @throws {ExitError} if it is not paused */
export async function resume(context: CommandContext, flags: TargetFlags): Promise<void> {
  const { connection, terminal, json } = context;
  const { target, text } = targetOf(flags);
  const hub = await connection.hub();
  const isResumed = await hub.resume(target, actorOf(context, flags));
  if (json) terminal.json({ resumed: isResumed });
  if (!isResumed) throw new ExitError(exitCodes.notFound, `${text} is not paused.`);
  if (!json) terminal.line(`Resumed ${text}.`);
}

function targetOf({ type, workflow, schedule, service }: TargetFlags): { target: PauseTarget; text: string } {
  const targets: { target: PauseTarget; text: string }[] = [];
  if (type !== undefined) targets.push({ target: { type }, text: `event type ${type}` });
  if (workflow !== undefined) targets.push({ target: { workflow }, text: `workflow ${workflow}` });
  if (schedule !== undefined) targets.push({ target: { schedule }, text: `schedule ${schedule}` });
  if (service !== undefined) targets.push({ target: { service }, text: `service ${service}` });
  const [only, ...others] = targets;
  if (only !== undefined && others.length === 0) return only;
  throw new ExitError(exitCodes.usage, 'error: pass one of --type, --workflow, --schedule and --service');
}
