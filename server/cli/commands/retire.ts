import { type CommandContext, confirmBulk } from '../command-context.js';
import { formatCount } from '../terminal.js';

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
