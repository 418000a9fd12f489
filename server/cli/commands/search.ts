import { InvalidArgumentError } from 'commander';
import { eventStatuses, type SearchQuery } from '../../hub/introspection/tag-search.js';
import type { CommandContext } from '../command-context.js';
import { ExitError, exitCodes, formatTime } from '../terminal.js';
import { printEvents } from './events.js';

/** Options of the command. */
export interface SearchFlags extends Pick<SearchQuery, 'tag' | 'key' | 'type' | 'status'> {
  readonly error?: string;
  /** Epoch milliseconds. */
  readonly since?: number;
  readonly limit: number;
}

/** Largest page of a search. */
const pageSize = 200;

/** Prints the events and runs with a tag or a key. @throws {ExitError} if none is retained */
export async function search({ connection, terminal, json }: CommandContext, flags: SearchFlags): Promise<void> {
  const hub = await connection.hub();
  const { tag, key, type, status, error, since, limit } = flags;
  const query: SearchQuery = {
    ...(tag !== undefined && { tag }),
    ...(key !== undefined && { key }),
    ...(type !== undefined && { type }),
    ...(status !== undefined && { status }),
    ...(error !== undefined && { group: error }),
    ...(since !== undefined && { from: since }),
  };
  let page = await hub.search({ ...query, limit: Math.min(limit, pageSize) });
  const found = [...page.events];
  while (page.after !== undefined && found.length < limit) {
    page = await hub.search({ ...query, after: page.after, limit: Math.min(limit - found.length, pageSize) });
    found.push(...page.events);
  }
  if (found.length === 0) {
    const what = tag === undefined ? `the key ${key}` : `the tag ${tag}`;
    throw new ExitError(exitCodes.notFound, `No event or run with ${what} is retained.`);
  }
  if (json) terminal.json({ events: found, ...(page.since !== undefined && { since: page.since }) });
  else printEvents(terminal, found);
  if (page.after !== undefined) terminal.note('There are more: raise --limit.');
  if (page.since !== undefined) terminal.note(`Events accepted before ${formatTime(page.since)} may be missing.`);
}

/** Reads the status of an event. @throws {InvalidArgumentError} */
export function readStatus(text: string): NonNullable<SearchQuery['status']> {
  const status = eventStatuses.find((each) => each === text);
  if (status === undefined) throw new InvalidArgumentError(`It must be one of ${eventStatuses.join(', ')}.`);
  return status;
}
