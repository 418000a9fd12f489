import type { EventDetails } from '../../hub/introspection/event-search.js';
import type { StepIntrospection } from '../../hub/runs/run-introspection.js';
import type { CommandContext } from '../command-context.js';
import { ExitError, exitCodes, formatMs, formatTime, type Terminal } from '../terminal.js';

/** Prints one event or run. @throws {ExitError} if it is not retained */
export async function show(
  { connection, terminal, json }: CommandContext,
  id: string,
  { payload = false }: { readonly payload?: boolean },
): Promise<void> {
  const hub = await connection.hub();
  const found = await hub.find(id, { payloads: payload });
  if (found.length === 0) throw new ExitError(exitCodes.notFound, `No event or run with the id ${id} is retained.`);
  if (json) terminal.json(found);
  else for (const event of found) printDetails(terminal, event);
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
    ['accepted', formatTime(event.acceptedAt)],
    ['due', formatTime(event.dueAt)],
    ['started', formatTime(event.startedAt)],
    ['ended', formatTime(event.endedAt)],
    ['waited', event.waitMs === undefined ? '' : formatMs(event.waitMs)],
    ['payload', event.payload === undefined ? '' : JSON.stringify(event.payload)],
  ];
  for (const [name, value] of times) if (value !== '') terminal.line(`  ${name.padEnd(10)}${value}`);
  for (const { attempt, startedAt, endedAt, error, isInterrupted } of event.attempts) {
    const duration = endedAt === undefined ? 'running' : formatMs(endedAt - startedAt);
    const failure =
      isInterrupted === true ? '  interrupted' : error === undefined ? '' : `  ${error.name}: ${error.message}`;
    terminal.line(`  attempt ${attempt}  ${formatTime(startedAt)}  ${duration}${failure}`);
  }
  for (const step of event.steps ?? []) terminal.line(`  ${describeStep(step)}`);
  if (event.isDeadLetter === true) terminal.line(`  dead letter: hubline replay ${event.id}`);
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
