import type { AuditEntry, AuditOutcome } from '../../hub/operate/audit.js';
import type { CommandContext } from '../command-context.js';
import { formatAge } from '../terminal.js';

/** Prints who did what to what, when and why, the newest first. */
export async function audit(
  { connection, terminal, json }: CommandContext,
  { limit }: { readonly limit: number },
): Promise<void> {
  const hub = await connection.hub();
  const entries = await hub.audit({ limit });
  if (json) {
    terminal.json(entries);
    return;
  }
  const now = hub.transport.clock.now();
  terminal.table(
    ['when', 'who', 'from', 'action', 'outcome', 'target', 'reason'],
    entries.map((entry) => [
      formatAge(entry.at, now),
      entry.by,
      entry.via,
      entry.action,
      outcomeText(entry.outcome),
      targetText(entry.target),
      entry.reason ?? '',
    ]),
  );
  if (entries.length === 0) terminal.note('Nobody has acted yet.');
}

function outcomeText(outcome: AuditOutcome | undefined): string {
  if (outcome === undefined) return '';
  const { done, failed, code } = outcome;
  if (failed === 0) return done === 0 ? 'nothing to do' : 'done';
  return code ?? `${failed} of ${done + failed} failed`;
}

function targetText({ id, ids, count, ...named }: AuditEntry['target']): string {
  const names = Object.entries(named).map(([name, value]) => `${name} ${value}`);
  const many = count === undefined ? [] : [`${count} events`, ...(ids ?? []).slice(0, 1).map((each) => `${each}…`)];
  return [...(id === undefined ? many : [id]), ...names].join(', ');
}
