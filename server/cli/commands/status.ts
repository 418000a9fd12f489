import type { Problem, ProblemKind } from '../../hub/introspection/health.js';
import type { HubIntrospection } from '../../hub/introspection/introspection.js';
import type { Pause } from '../../hub/pauses.js';
import { type CommandContext, nothingRegistered } from '../command-context.js';
import { ExitError, exitCodes, formatAge, formatCount } from '../terminal.js';

/** Prints the health of all hubs of the store. @throws {ExitError} if nothing is registered, or a hub is failing */
export async function status({ connection, terminal, json }: CommandContext): Promise<void> {
  const hub = await connection.hub();
  const [introspection, health] = [await hub.introspect(), await hub.health()];
  const { events, workflows, totals } = introspection;
  const { now } = introspection.hub;
  const processes = (await hub.processes()).filter((one) => one.events.length + one.workflows.length > 0).length;
  if (json) terminal.json({ now, processes, ...health, totals: totals.metrics, last5Min: totals.recent.last5Min });
  if (events.length + workflows.length === 0) {
    throw new ExitError(exitCodes.notFound, `${nothingRegistered} Start one, or check ${connection.chosenBy}.`);
  }
  if (!json) {
    const { received, failed, pending, deadLetters } = totals.metrics;
    const handling = formatCount(processes, 'process with handlers', 'processes with handlers');
    terminal.line(`${health.status}: ${describeCount(introspection)}, ${handling}`);
    terminal.line(
      `received ${received}, failed ${failed}, pending ${pending}, dead letters ${deadLetters}; last 5 min: received ${totals.recent.last5Min.received}, failed ${totals.recent.last5Min.failed}`,
    );
    for (const pause of health.paused) terminal.line(`- ${describePause(pause, now)}`);
    for (const problem of health.problems) terminal.line(`- ${describeProblem(problem, now)}`);
    const omitted = health.problemCount - health.problems.length;
    if (omitted > 0) terminal.line(`and ${formatCount(omitted, 'more problem')}`);
  }
  if (health.status === 'failing') throw new ExitError(exitCodes.unhealthy, 'The hub is failing.');
}

function describeCount({ events, workflows, agents }: HubIntrospection): string {
  const parts = [
    formatCount(events.length, 'event type'),
    formatCount(workflows.length, 'workflow'),
    formatCount(agents.length, 'agent'),
  ];
  return parts.join(', ');
}

function describePause({ target, by, reason, since }: Pause, now: number): string {
  const name = Object.values(target).join(' ');
  const subject = 'service' in target ? `service ${name}` : name;
  return `paused ${subject}, by ${by}, since ${formatAge(since, now)}: ${reason}`;
}

const countedBy: { readonly [K in ProblemKind]?: readonly [one: string, many?: string] } = {
  'approval-waiting': ['approval'],
  'awaiting-version': ['run'],
  'lost-process': ['process', 'processes'],
};

function describeProblem(problem: Problem, now: number): string {
  const { kind, eventType, workflow, schedule, service, failed, ended, pending, count, active } = problem;
  const { version, since, lastAt, lastError } = problem;
  const details = [
    kind === 'no-process' && service !== undefined ? `no process of ${service} handles it` : undefined,
    failed !== undefined && ended !== undefined ? `${failed} of ${ended} failed in 5 min` : undefined,
    pending === undefined ? undefined : `${pending} pending`,
    count === undefined ? undefined : formatCount(count, ...(countedBy[kind] ?? (['dead letter'] as const))),
    !active ? undefined : `${formatCount(active, 'running event')} released`,
    version === undefined ? undefined : `needs version ${version}`,
    lastError === undefined ? undefined : `${lastError.name}: ${lastError.message}`,
    since === undefined ? undefined : `since ${formatAge(since, now)}`,
    lastAt === undefined ? undefined : `last ${formatAge(lastAt, now)}`,
  ];
  const name = eventType ?? workflow ?? schedule ?? service ?? '';
  return [`${problem.severity} ${kind} ${name}`.trimEnd(), ...details.filter((detail) => detail !== undefined)].join(
    ', ',
  );
}
