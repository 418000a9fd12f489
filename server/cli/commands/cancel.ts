import { type CommandContext, confirmBulk } from '../command-context.js';
import { ExitError, exitCodes, formatCount } from '../terminal.js';

/** Cancels an event or a run in each service in which it is pending. @throws {ExitError} if it is in none */
export async function cancel({ connection, terminal, json }: CommandContext, id: string): Promise<void> {
  const base = await connection.hub();
  const found = (await base.find(id)).filter(({ endedAt }) => endedAt === undefined);
  let cancelled = 0;
  for (const { service } of found) {
    const hub = await connection.hub(service);
    if (await hub.cancel(id)) cancelled += 1;
  }
  if (json) terminal.json({ cancelled });
  if (cancelled === 0) {
    throw new ExitError(exitCodes.notFound, `${id} is unknown, has ended, or is an event that runs at the moment.`);
  }
  if (!json) terminal.line(`Cancelled ${id}.`);
}

/** Options of `hubline retire`. */
export interface RetireFlags {
  readonly only?: readonly string[];
  readonly discard?: boolean;
  readonly yes?: boolean;
}

/** Ends the subscriptions of a service that will not return. */
export async function retire(
  context: CommandContext,
  service: string,
  { only, discard = false, yes = false }: RetireFlags,
): Promise<void> {
  const { connection, terminal, json } = context;
  const subject = only === undefined ? `all types of ${service}` : `${only.join(', ')} of ${service}`;
  const effect = discard ? ', and discard what is pending and all dead letters' : '';
  await confirmBulk(context, `Retire ${subject}${effect}?`, yes);
  const result = await connection.transport.retire(service, { discard, ...(only !== undefined && { only }) });
  if (json) terminal.json(result);
  else
    terminal.line(
      `Retired ${subject}: discarded ${formatCount(result.events, 'event')}, ${formatCount(result.deadLetters, 'dead letter')}.`,
    );
}
