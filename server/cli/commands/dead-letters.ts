import { UnknownEventError } from '../../hub/errors.js';
import type { Hub } from '../../hub/hub.js';
import type { DeadLetter } from '../../hub/introspection/dead-letters.js';
import { nearestNames } from '../../hub/nearest-names.js';
import { workflowType } from '../../transports/delivery.js';
import { type CommandContext, confirmBulk, nothingRegistered } from '../command-context.js';
import { ExitError, exitCodes, formatAge, formatCount } from '../terminal.js';

/** Restriction of dead letters on the command line. */
export interface DeadLetterQuery {
  readonly request?: string;
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

/** Replays one dead letter in each service that has it, or all of a type. @throws {ExitError} if there is none */
export async function replay(
  context: CommandContext,
  id: string | undefined,
  { type, yes = false, ...query }: DeadLetterQuery & { readonly type?: string; readonly yes?: boolean },
): Promise<void> {
  if ((id === undefined) === (type === undefined)) {
    throw new ExitError(exitCodes.usage, 'Pass either the id of a dead letter or --type.');
  }
  const { connection, terminal, json, signal } = context;
  const isOne = id !== undefined;
  const found = isOne ? await findOne(context, id) : await findDeadLetters(context, type, query);
  if (found.length === 0) {
    throw new ExitError(
      exitCodes.notFound,
      isOne ? `There is no dead letter ${id}.` : 'There are no such dead letters.',
    );
  }
  if (!isOne) await confirmBulk(context, `Replay ${formatCount(found.length, 'dead letter')} of ${type}?`, yes);
  const failures: string[] = [];
  let tried = 0;
  for (const dead of found) {
    if (signal.aborted) break;
    const hub = await connection.hub(dead.service);
    await hub.replay(dead.id).catch((error: unknown) => failures.push(`${dead.id}: ${messageOf(error)}`));
    tried += 1;
    if (!isOne) terminal.progress(tried, found.length);
  }
  const replayed = tried - failures.length;
  if (json) terminal.json({ replayed, failures });
  else terminal.line(`Replayed ${replayed} of ${found.length}.`);
  if (tried < found.length) failures.push(`Interrupted: ${found.length - tried} of ${found.length} not replayed.`);
  if (failures.length > 0) throw new ExitError(exitCodes.failed, failures.join('\n'));
}

async function findOne({ connection }: CommandContext, id: string): Promise<{ id: string; service: string }[]> {
  const hub = await connection.hub();
  const found = await hub.find(id);
  return found.filter(({ isDeadLetter }) => isDeadLetter === true).map(({ service }) => ({ id, service }));
}

async function findDeadLetters(
  { connection }: CommandContext,
  type: string | undefined,
  { request, since, limit }: DeadLetterQuery,
): Promise<FoundDeadLetter[]> {
  const hub = await connection.hub();
  const found: FoundDeadLetter[] = [];
  for (const { name, service } of await placesOf(hub, type)) {
    const owner = await connection.hub(service);
    const letters = await owner.deadLetters(name, {
      limit,
      ...(request !== undefined && { requestId: request }),
      ...(since !== undefined && { since }),
    });
    found.push(...letters.map((letter) => ({ ...letter, type: name, service })));
  }
  return found.sort((a, b) => b.at - a.at).slice(0, limit);
}

/** Returns the names and services with dead letters. @throws {UnknownEventError} if no process ever had the type */
async function placesOf(hub: Hub, type: string | undefined): Promise<{ name: string; service: string }[]> {
  const { events, workflows } = await hub.introspect();
  const all = [...events.map((event) => event.type), ...workflows.map(({ name }) => name)];
  const names = [...new Set(type === undefined ? all : [type])];
  const counts = await hub.transport.counts.get(names.flatMap((name) => [name, workflowType(name)]));
  const isKnown = type === undefined || all.includes(type) || counts.some(({ services }) => services.length > 0);
  if (!isKnown) throw new UnknownEventError(type, nearestNames(type, all), undefined, 'hubline events lists the types');
  return names.flatMap((name, index) => {
    const services = counts.slice(2 * index, 2 * index + 2).flatMap((count) => count.services);
    const withDead = services.filter((share) => share.counts.deadLetters > 0).map(({ service }) => service);
    return [...new Set(withDead)].map((service) => ({ name, service }));
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
