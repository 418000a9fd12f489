import type { HubIntrospection } from '../../hub/introspection/introspection.js';
import type { EventSummary } from '../../hub/introspection/lookup/event-details.js';
import type { CommandContext } from '../command-context.js';
import { formatAge, formatMs } from '../format.js';

/** Prints the counts of all event types and workflows, or the newest events of one. */
export async function events({ connection, terminal, json }: CommandContext, type?: string): Promise<void> {
  const hub = await connection.hub();
  if (type !== undefined) {
    const recent = await hub.recent(type);
    if (json) terminal.json(recent);
    else printEvents(terminal, [...recent.failed, ...recent.newest.filter(({ status }) => status !== 'failed')]);
    return;
  }
  const introspection = await hub.introspect();
  if (json) terminal.json({ events: introspection.events, workflows: introspection.workflows });
  else terminal.table(countColumns, countRows(introspection));
}

export const countColumns: readonly string[] = [
  'type',
  'received',
  'failed',
  'pending',
  'dead letters',
  'failed 5 min',
  'wait p95',
  'oldest pending',
];

/** Returns the counts of all event types and workflows as rows of a table. */
export function countRows({ events: types, workflows, hub: { now } }: HubIntrospection): string[][] {
  const named = [
    ...types.map((event) => ({ name: event.type, ...event })),
    ...workflows.map((workflow) => ({ ...workflow, name: `${workflow.name} (workflow)` })),
  ];
  return named.map(({ name, metrics, recent }) => [
    name,
    String(metrics.received),
    String(metrics.failed),
    String(metrics.pending),
    String(metrics.deadLetters),
    String(recent.last5Min.failed),
    recent.waitP95Ms === null ? '' : formatMs(recent.waitP95Ms),
    formatAge(metrics.oldestPendingAt, now),
  ]);
}

/** Prints a line per event. */
function printEvents(terminal: CommandContext['terminal'], found: readonly EventSummary[]): void {
  const now = Date.now();
  terminal.table(
    ['id', 'type', 'status', 'accepted', 'attempt', 'error'],
    found.map(({ id, type, status, acceptedAt, attempt, error }) => [
      id,
      type,
      status,
      formatAge(acceptedAt, now),
      String(attempt),
      error === undefined ? '' : `${error.name}: ${error.message}`,
    ]),
  );
  if (found.length === 0) terminal.note('No events are retained.');
}
