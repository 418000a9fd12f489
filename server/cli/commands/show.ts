import { UnknownEventError, UnknownEventIdError } from '../../hub/errors.js';
import type { EventDetails } from '../../hub/introspection/event-search.js';
import type { Backlog, Blocker, Explanation } from '../../hub/introspection/explain.js';
import type { StepIntrospection } from '../../hub/runs/run-introspection.js';
import type { CommandContext } from '../command-context.js';
import { ExitError, exitCodes, formatMs, formatTime, type Terminal } from '../terminal.js';

/** Prints events and runs. @throws {ExitError} if one of them is not retained */
export async function show(
  { connection, terminal, json }: CommandContext,
  ids: readonly string[],
  { payload = false }: { readonly payload?: boolean },
): Promise<void> {
  const hub = await connection.hub();
  const found: EventDetails[] = [];
  const missing: string[] = [];
  for (const id of ids) {
    const events = await hub.find(id, { payloads: payload });
    found.push(...events);
    if (events.length === 0) missing.push(`No event or run with the id ${id} is retained.`);
  }
  if (json && found.length > 0) terminal.json(found);
  else for (const event of found) printDetails(terminal, event);
  if (missing.length > 0) throw new ExitError(exitCodes.notFound, missing.join('\n'));
}

/** Prints the events and runs of a request as a tree. @throws {ExitError} if nothing of it is retained */
export async function request({ connection, terminal, json }: CommandContext, requestId: string): Promise<void> {
  const hub = await connection.hub();
  const found = await hub.getRequest(requestId);
  if (found.events.length === 0) {
    throw new ExitError(exitCodes.notFound, `Nothing of the request ${requestId} is retained.`);
  }
  if (json) {
    terminal.json(found);
    return;
  }
  const known = new Set(found.events.map(({ id }) => id));
  const printTree = (event: EventDetails, depth: number): void => {
    terminal.line(`${'  '.repeat(depth)}${summaryOf(event)}`);
    for (const effect of found.events) if (effect.causeId === event.id) printTree(effect, depth + 1);
  };
  for (const event of found.events) if (event.causeId === undefined || !known.has(event.causeId)) printTree(event, 0);
  if (found.isTruncated) terminal.note('The request has more events than are shown.');
}

/**
 * Prints why an event or a run does not run, or the backlog of a type or a workflow. @throws {ExitError} if there is
 * neither
 */
export async function why({ connection, terminal, json }: CommandContext, name: string): Promise<void> {
  const hub = await connection.hub();
  const found = await orUndefined(UnknownEventIdError, () => hub.explain(name));
  if (found !== undefined) {
    if (json) terminal.json(found);
    else printExplanation(terminal, found);
    return;
  }
  const backlog = await orUndefined(UnknownEventError, () => hub.backlog(name));
  if (backlog === undefined) throw new ExitError(exitCodes.notFound, new UnknownEventIdError(name).message);
  if (json) terminal.json(backlog);
  else printBacklog(terminal, backlog);
}

/** Returns what a function returns; `undefined` if it throws an error of a class. */
async function orUndefined<T>(
  kind: typeof UnknownEventIdError | typeof UnknownEventError,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof kind) return undefined;
    throw error;
  }
}

function printExplanation(
  terminal: Terminal,
  { type, service, status, blockers, waiting, expectedAt }: Explanation,
): void {
  terminal.line(`${type} ${status} in ${service}`);
  for (const blocker of blockers) terminal.line(`  ${describeBlocker(blocker)}`);
  if (waiting !== undefined) terminal.line(`  ${waiting} of the type wait for a slot, this one included`);
  if (expectedAt !== undefined) terminal.line(`  continues ${formatTime(expectedAt)}`);
  if (blockers.length === 0 && status === 'waiting') terminal.line('  nothing holds it: it is about to start');
}

function printBacklog(
  terminal: Terminal,
  { type, waiting, inPerMinute, outPerMinute, emptyAt, bottlenecks }: Backlog,
): void {
  terminal.line(`${type}: ${waiting} wait for a slot`);
  const growth = inPerMinute - outPerMinute;
  const emptied = emptyAt === undefined || waiting === 0 ? '' : `, empty about ${formatTime(emptyAt)}`;
  const trend = growth > 0 ? `, grows by ${growth.toFixed(1)} per minute` : emptied;
  terminal.line(`  in ${inPerMinute.toFixed(1)}, out ${outPerMinute.toFixed(1)} per minute over the last 5${trend}`);
  for (const { service, ...blocker } of bottlenecks) terminal.line(`  ${service}: ${describeBlocker(blocker)}`);
}

function describeBlocker(blocker: Blocker): string {
  const { kind, until, since, step, eventType, runId, kept, by, reason, release, version, limit, holders, processes } =
    blocker;
  const parts = [
    blocker.child === undefined ? '' : `${blocker.child}:`,
    kind,
    blocker.limitName ?? '',
    step === undefined ? '' : `of step ${step}`,
    eventType === undefined ? '' : `for ${eventType}`,
    runId === undefined ? '' : kind === 'inbox' ? `of run ${runId}` : `for run ${runId}`,
    kept === undefined ? '' : `keeps ${kept} events that no wait takes`,
    by === undefined ? '' : `by ${by}: ${reason}`,
    version === undefined ? '' : `needs version ${version}`,
    limit === undefined
      ? ''
      : `limit ${typeof limit === 'number' ? limit : `${limit.max} per ${formatMs(limit.perMs)}`}`,
    release === undefined ? '' : `last release ${release}`,
    since === undefined ? '' : `since ${formatTime(since)}`,
    until === undefined ? '' : `until ${formatTime(until)}`,
    holders === undefined || holders.length === 0 ? '' : `held by ${holders.map(({ id }) => id).join(', ')}`,
    ...(processes ?? []).map(({ host, active, slots }) => `${host} runs ${active} of ${slots}`),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function summaryOf({ type, id, service, status, runMs, step, error }: EventDetails): string {
  const duration = runMs === undefined ? '' : ` in ${formatMs(runMs)}`;
  const failure = error === undefined ? '' : `: ${error.name}: ${error.message}`;
  return `${type} ${status}${duration}${step === undefined ? '' : ` at ${step}`}${failure}  ${id} (${service})`;
}

function printDetails(terminal: Terminal, event: EventDetails): void {
  terminal.line(summaryOf(event));
  const times: readonly (readonly [string, string])[] = [
    ['request', event.requestId],
    ['cause', event.causeId ?? ''],
    ['fork of', event.forkOf === undefined ? '' : `${event.forkOf.runId} from ${event.forkOf.step}`],
    ['accepted', formatTime(event.acceptedAt)],
    ['due', formatTime(event.dueAt)],
    ['started', formatTime(event.startedAt)],
    ['ended', formatTime(event.endedAt)],
    ['waited', event.waitMs === undefined ? '' : formatMs(event.waitMs)],
    ['payload', textOf(event.payload)],
    ['result', textOf(event.result)],
  ];
  for (const [name, value] of times) if (value !== '') terminal.line(`  ${name.padEnd(10)}${value}`);
  for (const { attempt, startedAt, endedAt, error, isInterrupted } of event.attempts) {
    const duration = endedAt === undefined ? 'running' : formatMs(endedAt - startedAt);
    const failure =
      isInterrupted === true ? '  interrupted' : error === undefined ? '' : `  ${error.name}: ${error.message}`;
    terminal.line(`  attempt ${attempt}  ${formatTime(startedAt)}  ${duration}${failure}`);
  }
  for (const step of event.steps ?? []) {
    terminal.line(`  ${describeStep(step)}`);
    for (const name of ['arguments', 'output'] as const) {
      const text = textOf(step[name]);
      if (text !== '') terminal.line(`    ${name.padEnd(10)}${text}`);
    }
  }
  if (event.isDeadLetter === true) terminal.line(`  dead letter: hubline replay ${event.id}`);
}

/** Returns a content that was asked for; `''` if there is none. */
function textOf(content: unknown): string {
  return content === undefined ? '' : JSON.stringify(content);
}

function describeStep(step: StepIntrospection): string {
  const { name, kind, status, attempt, durationMs, error, waitsFor, turn } = step;
  const parts = [
    `step ${name}`,
    kind === 'run' ? '' : `(${kind})`,
    status,
    attempt === undefined || attempt === 1 ? '' : `attempt ${attempt}`,
    durationMs === undefined ? '' : formatMs(durationMs),
    waitsFor?.event === undefined ? '' : `for ${waitsFor.event.type}`,
    waitsFor?.runId === undefined ? '' : `for run ${waitsFor.runId}`,
    waitsFor?.dueAt === undefined ? '' : `until ${formatTime(waitsFor.dueAt)}`,
    ...(turn === undefined ? [] : describeTurn(turn)),
    error === undefined ? '' : `${error.name}: ${error.message}`,
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function describeTurn({ agent, model, usage, isToolError }: NonNullable<StepIntrospection['turn']>): string[] {
  return [
    agent === undefined ? '' : `agent ${agent}`,
    model === undefined ? '' : `model ${model}`,
    usage === undefined ? '' : `${usage.promptTokens} + ${usage.completionTokens} tokens`,
    usage?.cost === undefined ? '' : `cost ${Number(usage.cost.toPrecision(3))}`,
    isToolError === true ? 'the model received an error' : '',
  ];
}
