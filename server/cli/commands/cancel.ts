import { audited } from '../../hub/operate/audit.js';
import { type ActorFlags, actorOf, type CommandContext, confirmBulk } from '../command-context.js';
import { ExitError, exitCodes, formatCount } from '../terminal.js';

/** Cancels events and runs in each service in which they are pending. @throws {ExitError} if one of them is in none */
export async function cancel(context: CommandContext, ids: readonly string[], flags: ActorFlags): Promise<void> {
  const { connection, terminal, json } = context;
  const hub = await connection.hub();
  const actor = actorOf(context, flags);
  const results: { id: string; cancelled: boolean }[] = [];
  for (const id of ids) results.push({ id, cancelled: await hub.cancel(id, actor) });
  const [only, ...others] = results;
  if (json) terminal.json(others.length === 0 ? { cancelled: only?.cancelled ?? false } : results);
  const missing = results.filter(({ cancelled }) => !cancelled).map(({ id }) => `${id} is unknown or has ended.`);
  if (!json) for (const { id, cancelled } of results) if (cancelled) terminal.line(`Cancelled ${id}.`);
  if (missing.length > 0) throw new ExitError(exitCodes.notFound, missing.join('\n'));
}

/** Options of `hubline retire`. */
export interface RetireFlags extends ActorFlags {
  readonly only?: readonly string[];
  readonly discard?: boolean;
  readonly yes?: boolean;
}

/** Ends the subscriptions of a service that will not return. */
export async function retire(
  context: CommandContext,
  service: string,
  { only, discard = false, yes = false, ...flags }: RetireFlags,
): Promise<void> {
  const { connection, terminal, json } = context;
  const subject = only === undefined ? `all types of ${service}` : `${only.join(', ')} of ${service}`;
  const effect = discard ? ', and discard what is pending and all dead letters' : '';
  await confirmBulk(context, `Retire ${subject}${effect}?`, yes);
  const result = await audited(await connection.hub(), 'retire', { service }, actorOf(context, flags), () =>
    connection.transport.retire(service, { discard, ...(only !== undefined && { only }) }),
  );
  if (json) terminal.json(result);
  else
    terminal.line(
      `Retired ${subject}: discarded ${formatCount(result.events, 'event')}, ${formatCount(result.deadLetters, 'dead letter')}.`,
    );
}
