import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import type { DeadLetter } from '../../hub/introspection/dead-letters.js';
import type { ErrorGroup } from '../../hub/introspection/error-groups.js';
import { audited, targetOfMany } from '../../hub/operate/audit.js';
import { deadLetterPlaces } from '../../hub/operate/dead-letter-places.js';
import { type ActorFlags, actorOf, type CommandContext, confirmBulk, nothingRegistered } from '../command-context.js';
import { ExitError, exitCodes, formatAge, formatCount } from '../terminal.js';

/** Restriction of dead letters on the command line. */
export interface DeadLetterQuery {
  readonly request?: string;
  /** Id of an error group. */
  readonly error?: string;
  /** Epoch milliseconds. */
  readonly since?: number;
  readonly limit: number;
}

interface FoundDeadLetter extends DeadLetter {
  readonly type: string;
  readonly service: string;
}

/** Prints the dead letters of all services, of one type or of all. */
export async function deadLetters(
  context: CommandContext,
  type: string | undefined,
  { payload = false, ...query }: DeadLetterQuery & { readonly payload?: boolean },
): Promise<void> {
  const { terminal, json } = context;
  const found = await findDeadLetters(context, type, query);
  if (json) {
    terminal.json(payload ? found : found.map(({ payload: _, ...rest }) => rest));
    return;
  }
  const now = Date.now();
  terminal.table(
    ['id', 'type', 'service', 'failed', 'attempt', 'request', 'error', ...(payload ? ['payload'] : [])],
    found.map((dead) => [
      dead.id,
      dead.type,
      dead.service,
      formatAge(dead.at, now),
      String(dead.attempt),
      dead.requestId,
      `${dead.name}: ${dead.message}`,
      ...(payload ? [JSON.stringify(dead.payload) ?? ''] : []),
    ]),
  );
  if (found.length > 0) return;
  const isBlind = type === undefined && !(await knowsTypes(context));
  terminal.note(isBlind ? `${nothingRegistered} Pass the type of the dead letters.` : 'There are no dead letters.');
}

/** Returns `false` if the store cannot tell its types: those of processes of earlier versions are unknown. */
async function knowsTypes({ connection }: CommandContext): Promise<boolean> {
  const { events, workflows } = await (await connection.hub()).introspect();
  return events.length + workflows.length > 0;
}

/** Options of `hubline replay`. */
export interface ReplayFlags extends DeadLetterQuery, ActorFlags {
  readonly type?: string;
  readonly yes?: boolean;
}

/** Replays dead letters in each service that has them, or all of a type. @throws {ExitError} if one is missing */
export async function replay(
  context: CommandContext,
  ids: readonly string[],
  { type, yes = false, by, reason, ...query }: ReplayFlags,
): Promise<void> {
  const { error } = query;
  const isBulk = type !== undefined || error !== undefined;
  if ((ids.length === 0) === !isBulk) {
    throw new ExitError(exitCodes.usage, 'Pass either ids of dead letters, or --type or --error.');
  }
  const { connection, terminal, json, signal } = context;
  const hub = await connection.hub();
  const found = isBulk ? await findDeadLetters(context, type, query) : await findByIds(hub, ids);
  const missing = ids
    .filter((id) => !found.some((dead) => dead.id === id))
    .map((id) => `There is no dead letter ${id}.`);
  if (found.length === 0) {
    throw new ExitError(exitCodes.notFound, isBulk ? 'There are no such dead letters.' : missing.join('\n'));
  }
  const source = error === undefined ? type : `group ${error}`;
  if (isBulk) await confirmBulk(context, `Replay ${formatCount(found.length, 'dead letter')} of ${source}?`, yes);
  const actor = actorOf(context, { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) });
  const [only, ...others] = found;
  const many = { ...targetOfMany(found.map(({ id }) => id)), ...(type !== undefined && { type }) };
  const target =
    only !== undefined && others.length === 0
      ? { id: only.id, service: only.service }
      : { ...many, ...(error !== undefined && { errorGroup: error }) };
  const failures: string[] = [];
  let code: string | undefined;
  const replayAll = async (): Promise<number> => {
    let tried = 0;
    for (const { id, service } of found) {
      if (signal.aborted) break;
      await hub.replay(id, { service }).catch((error: unknown) => {
        failures.push(`${id}: ${messageOf(error)}`);
        if (HubError.is(error)) code = error.code;
      });
      tried += 1;
      if (isBulk) terminal.progress(tried, found.length);
    }
    return tried;
  };
  const tried = await audited(hub, 'replay', target, actor, replayAll, (count) => ({
    done: count - failures.length,
    failed: failures.length,
    ...(code !== undefined && count === 1 && { code }),
  }));
  const replayed = tried - failures.length;
  if (json) terminal.json({ replayed, failures });
  else terminal.line(`Replayed ${replayed} of ${found.length}.`);
  if (tried < found.length) failures.push(`Interrupted: ${found.length - tried} of ${found.length} not replayed.`);
  if (failures.length > 0) throw new ExitError(exitCodes.failed, [...failures, ...missing].join('\n'));
  if (missing.length > 0) throw new ExitError(exitCodes.notFound, missing.join('\n'));
}

/** Prints the error groups of all types, or of one. */
export async function errors(context: CommandContext, type: string | undefined): Promise<void> {
  const { connection, terminal, json } = context;
  const found = await (await connection.hub()).errorGroups(type);
  if (json) {
    terminal.json(found);
    return;
  }
  const now = Date.now();
  terminal.table(
    ['group', 'type', 'failures', 'attempts', 'dead', 'first', 'last', 'release', 'error'],
    found.map((group) => [
      group.id,
      group.eventType ?? group.workflow ?? '',
      String(group.failures),
      String(group.attempts),
      String(group.deadLetters),
      formatAge(group.firstSeenAt, now),
      formatAge(group.lastSeenAt, now),
      group.firstRelease ?? '',
      `${group.name}: ${group.message}`,
    ]),
  );
  if (found.some(({ deadLetters: open }) => open > 0)) terminal.note('Replay a group: hubline replay --error GROUP');
  if (found.length === 0) terminal.note('Nothing failed.');
}

/** Returns an error group. @throws {ExitError} if there is none with the id */
async function findGroup(hub: Hub, id: string, type: string | undefined): Promise<ErrorGroup> {
  const found = (await hub.errorGroups(type)).find((group) => group.id === id);
  if (found === undefined) throw new ExitError(exitCodes.notFound, `There is no error group ${id}.`);
  return found;
}

async function findByIds(hub: Hub, ids: readonly string[]): Promise<{ id: string; service: string }[]> {
  const found: { id: string; service: string }[] = [];
  for (const id of new Set(ids)) {
    const events = await hub.find(id);
    found.push(...events.filter(({ isDeadLetter }) => isDeadLetter === true).map(({ service }) => ({ id, service })));
  }
  return found;
}

async function findDeadLetters(
  { connection }: CommandContext,
  type: string | undefined,
  { request, error, since, limit }: DeadLetterQuery,
): Promise<FoundDeadLetter[]> {
  const hub = await connection.hub();
  const found: FoundDeadLetter[] = [];
  const grouped = error === undefined ? undefined : await findGroup(hub, error, type);
  for (const { name, service } of await deadLetterPlaces(hub, grouped?.eventType ?? grouped?.workflow ?? type)) {
    const letters = await hub.deadLetters(name, {
      limit,
      service,
      ...(request !== undefined && { requestId: request }),
      ...(error !== undefined && { errorGroup: error }),
      ...(since !== undefined && { since }),
    });
    found.push(...letters.map((letter) => ({ ...letter, type: name, service })));
  }
  return found.sort((a, b) => b.at - a.at).slice(0, limit);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
