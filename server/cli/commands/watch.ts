import { setTimeout as delay } from 'node:timers/promises';
import type { CommandContext } from '../command-context.js';
import { formatCount, formatTime } from '../format.js';
import { tableLines } from '../terminal.js';
import { countColumns, countRows } from './events.js';

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
