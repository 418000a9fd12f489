import { setTimeout as delay } from 'node:timers/promises';
import type { EventSummary } from '../../hub/introspection/event-search.js';
import type { HubIntrospection } from '../../hub/introspection/introspection.js';
import type { CommandContext } from '../command-context.js';
import { formatAge, formatCount, formatMs, formatTime, tableLines } from '../terminal.js';

/** Prints the counts of all event types and workflows, or the newest events of one. */
export async function events({ connection, terminal, json }: CommandContext, type?: string): Promise<void> {
  const hub = await connection.hub();
  if (type !== undefined) {
    const recent = await hub.getRecent(type);
    if (json) terminal.json(recent);
    else printEvents(terminal, [...recent.failed, ...recent.newest.filter(({ status }) => status !== 'failed')]);
    return;
  }
  const introspection = await hub.introspect();
  if (json) terminal.json({ events: introspection.events, workflows: introspection.workflows });
  else terminal.table(countColumns, countRows(introspection));
}

const countColumns: readonly string[] = [
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
function countRows({ events: types, workflows, hub: { now } }: HubIntrospection): string[][] {
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
export function printEvents(terminal: CommandContext['terminal'], found: readonly EventSummary[]): void {
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

/** Options of `hubline watch`. */
export interface WatchFlags {
  /** Seconds between two frames. */
  readonly interval: number;
  /** Number of frames; no end if absent. */
  readonly frames?: number;
}

/** Shows the counts of all types as a table that is renewed until the signal aborts. */
export async function watch(
  { connection, terminal, json, signal }: CommandContext,
  { interval, frames = Number.POSITIVE_INFINITY }: WatchFlags,
): Promise<void> {
  const hub = await connection.hub();
  for (let frame = 1; frame <= frames && !signal.aborted; frame += 1) {
    const introspection = await hub.introspect();
    const { now } = introspection.hub;
    if (json) {
      terminal.json({ now, events: introspection.events, workflows: introspection.workflows });
    } else {
      const { status, problemCount } = await hub.health();
      terminal.frame([
        `${formatTime(now)}  ${status}, ${formatCount(problemCount, 'problem')}`,
        '',
        ...tableLines(countColumns, countRows(introspection)),
      ]);
    }
    if (frame < frames) await delay(interval * 1_000, undefined, { signal }).catch(() => {});
  }
}
