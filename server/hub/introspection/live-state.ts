import type { Redactor } from '../../redaction.js';
import { workflowOf, workflowType } from '../../transports/delivery.js';
import { approvalsFirst, type RunRecord, type RunStatus } from '../../transports/event-record.js';
import type { ConnectedProcess, TransportManager } from '../../transports/transport.js';
import { sumUsage, type TurnUsage } from '../events/reported-agents.js';
import { pathSeparator } from '../runs/run-entry.js';
import {
  introspectRun,
  type ListedStep,
  type RunIntrospection,
  type StepIntrospection,
} from '../runs/run-introspection.js';
import { type Cluster, type HubDescription, parseDescription } from './hub-description.js';
import { type ProcessIntrospection, parseProcessState } from './process-state.js';

/** Runs per type that are searched for those of an agent. */
const searchedRuns = 20;
/** Types that are searched for runs of an agent. */
const searchedTypes = 50;

/** Parts of a transport from which the live state is read. */
type LiveParts = Pick<TransportManager, 'counts' | 'runs' | 'fleet' | 'lookup'>;

/** Reads what is going on in all hubs of a transport, beyond the counts. */
export class LiveState {
  readonly #transport: LiveParts;
  readonly #redactor: Redactor;
  readonly #readCluster: () => Promise<Cluster>;

  /** @param readCluster reads the registrations of all hubs */
  constructor(transport: LiveParts, redactor: Redactor, readCluster: () => Promise<Cluster>) {
    this.#transport = transport;
    this.#redactor = redactor;
    this.#readCluster = readCluster;
  }

  /** Lists what runs wait for. */
  async waits(): Promise<WaitSummary> {
    const cluster = await this.#readCluster();
    const counts = await this.#transport.counts.get(cluster.types);
    const totals = { approvals: 0, suspended: 0 };
    const types = cluster.types.filter((_type, index) => {
      const { approvals = 0, suspended = 0 } = counts[index]?.total ?? {};
      totals.approvals += approvals;
      totals.suspended += suspended;
      return approvals + suspended > 0;
    });
    // One more than are listed shows that there are more.
    const runs = types.length === 0 ? [] : await this.#transport.runs.waiting(types, maxWaitingRuns + 1);
    return introspectWaits(types, runs, totals, this.#redactor);
  }

  /** Lists the running hubs. */
  async processes(): Promise<readonly ProcessIntrospection[]> {
    return introspectProcesses(await this.#transport.fleet.processes(), parseDescription);
  }

  /** Returns the latest recorded runs of an agent. */
  async agentRuns(agent: string): Promise<readonly AgentRunIntrospection[]> {
    const { events, workflows, agents } = await this.#readCluster();
    const names = delegatorsOf(agent, agents);
    const sources = [
      ...events
        .filter(({ description }) => description.agent !== undefined && names.has(description.agent.name))
        .map(({ description }) => ({
          type: description.type,
          listed: [],
          isHandler: description.agent?.name === agent,
        })),
      // The function of a workflow may run any agent.
      ...workflows
        .filter(({ description: { steps } }) => steps.length === 0 || steps.some((step) => names.has(step.agent ?? '')))
        .map(({ description }) => ({
          type: workflowType(description.name),
          listed: description.steps,
          isHandler: false,
        })),
    ].slice(0, searchedTypes);
    const runTypes = sources.map(({ type }) => type);
    const { runs } = await this.#transport.lookup.overview({ types: [], runTypes, runLimit: searchedRuns });
    const found = sources.map((source, index) => ({ ...source, runs: runs[index] ?? [] }));
    return introspectAgentRuns(agent, found, this.#redactor);
  }
}

/** Returns the name of an agent, and those of all agents that delegate to it, through others too. */
function delegatorsOf(agent: string, agents: Cluster['agents']): ReadonlySet<string> {
  const names = new Set([agent]);
  // A set iterates over what is added meanwhile.
  for (const name of names) {
    for (const other of agents) if (other.delegates.includes(name)) names.add(other.name);
  }
  return names;
}

/** Open wait of a run. */
export interface WaitIntrospection {
  /** Id of the run: of the event, if an agent handles it. */
  readonly id: string;
  readonly kind: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  readonly service: string;
  readonly requestId: string;
  /** Step that waits, with its `waitsFor`. */
  readonly step: StepIntrospection;
}

/** Open waits of runs. Result of `hub.waits()`. */
export interface WaitSummary {
  /** Approvals first, the oldest first; then the others, the oldest first. At most 200. */
  readonly waits: readonly WaitIntrospection[];
  /** Number of all approvals that runs wait for. */
  readonly approvals: number;
  /** Number of all suspended runs. */
  readonly suspended: number;
  /** There are more waits than are listed. */
  readonly isTruncated: boolean;
  /** Event types and workflows with listed waits of which not all are listed. */
  readonly truncated: readonly Pick<WaitIntrospection, 'kind' | 'type'>[];
}

/** Maximum number of runs per type that are read. */
const maxWaitingRuns = 100;
const maxWaits = 200;

/** Lists the waits of runs. @param runs per type, one more than {@link maxWaitingRuns} if there are more */
function introspectWaits(
  types: readonly string[],
  runs: readonly (readonly RunRecord[])[],
  totals: Pick<WaitSummary, 'approvals' | 'suspended'>,
  redactor: Redactor,
): WaitSummary {
  const listed = runs.map((ofType) => approvalsFirst(ofType).slice(0, maxWaitingRuns));
  const waits = listed.flatMap((ofType, index) => ofType.flatMap((run) => waitsOf(types[index] ?? '', run, redactor)));
  waits.sort((a, b) => rank(a) - rank(b) || sinceOf(a) - sinceOf(b));
  const [shown, omitted] = [waits.slice(0, maxWaits), waits.slice(maxWaits)];
  const isCut = runs.map((ofType) => ofType.length > maxWaitingRuns);
  const truncated = types.map(subjectOf).filter(({ kind, type }, index) => {
    const isOfType = (wait: WaitIntrospection): boolean => wait.kind === kind && wait.type === type;
    return (isCut[index] || omitted.some(isOfType)) && shown.some(isOfType);
  });
  return { waits: shown, ...totals, isTruncated: omitted.length > 0 || isCut.includes(true), truncated };
}

function subjectOf(type: string): Pick<WaitIntrospection, 'kind' | 'type'> {
  const workflow = workflowOf(type);
  return workflow === undefined ? { kind: 'event', type } : { kind: 'workflow', type: workflow };
}

function waitsOf(type: string, run: RunRecord, redactor: Redactor): WaitIntrospection[] {
  const { id, service, envelope } = run;
  return introspectRun([], run, redactor)
    .steps.filter(({ waitsFor }) => waitsFor !== undefined)
    .map((step) => ({ id, ...subjectOf(type), service, requestId: envelope.requestId, step }));
}

function rank({ step }: WaitIntrospection): number {
  return step.kind === 'approval' ? 0 : 1;
}

function sinceOf({ step }: WaitIntrospection): number {
  return step.waitsFor?.since ?? 0;
}

/**
 * Lists the processes by service and start. One whose state is not understood, of another version, is omitted.
 *
 * @param parse returns the description of a hub from its text
 */
function introspectProcesses(
  connected: readonly ConnectedProcess[],
  parse: (description: string) => HubDescription,
): readonly ProcessIntrospection[] {
  const processes = connected.flatMap(({ description, state }) => {
    const known = parseProcessState(state);
    if (known === undefined) return [];
    const { service, events, workflows } = parse(description);
    return [
      {
        ...known,
        service,
        events: events.filter(({ kind }) => kind !== 'declared').map(({ type }) => type),
        workflows: workflows.map(({ name }) => name),
      },
    ];
  });
  return processes.sort((a, b) => compare(a.service, b.service) || a.startedAt - b.startedAt || compare(a.id, b.id));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Recorded run of an agent: the run of an event that the agent handles, or a part of a workflow's run. Of a run that was
 * handed over, the turns of this agent.
 */
export interface AgentRunIntrospection {
  /** Id of the event or of the workflow's run. */
  readonly id: string;
  readonly kind: 'event' | 'workflow';
  /** Event type, or name of the workflow. */
  readonly type: string;
  readonly service: string;
  readonly requestId: string;
  /** Step in which the agent runs; empty if it is the whole run. */
  readonly step: string;
  readonly status: RunStatus;
  /** Epoch milliseconds of the first model call. */
  readonly startedAt: number;
  /** Epoch milliseconds of the end of the last step so far. */
  readonly lastAt: number;
  readonly turns: number;
  /** Tool calls, those that the vendor ran included. */
  readonly toolCalls: number;
  /** Tokens of the agent's own model calls, and their cost if it has prices. */
  readonly usage: TurnUsage;
  readonly error?: { readonly name: string; readonly message: string };
  /** Model calls, tool calls and approvals, at most 100, the latest ones. Their names begin with their turn. */
  readonly steps: readonly StepIntrospection[];
}

const maxAgentRuns = 20;
const maxSteps = 100;
const agentKinds: readonly StepIntrospection['kind'][] = ['model', 'tool', 'approval'];

/** Run whose record may contain runs of an agent. */
export interface AgentRunSource {
  readonly type: string;
  readonly listed: readonly ListedStep[];
  /** The agent handles the events of the type, so that each of them is a run of it. */
  readonly isHandler: boolean;
  readonly runs: readonly RunRecord[];
}

/** Returns the latest runs of an agent, newest first. */
function introspectAgentRuns(
  agent: string,
  sources: readonly AgentRunSource[],
  redactor: Redactor,
): readonly AgentRunIntrospection[] {
  return sources
    .flatMap((source) =>
      source.runs.flatMap((run) => runsIn(agent, source, introspectRun(source.listed, run, redactor))),
    )
    .sort((a, b) => b.startedAt - a.startedAt)
    .slice(0, maxAgentRuns);
}

function runsIn(
  agent: string,
  { type, isHandler }: AgentRunSource,
  run: RunIntrospection,
): readonly AgentRunIntrospection[] {
  const calls = run.steps.filter(({ turn }) => turn?.agent === agent);
  const paths = new Set([...(isHandler ? [''] : []), ...calls.map(({ name }) => pathOf(name))]);
  return [...paths].map((path) => runAt(agent, path, type, run));
}

/** Returns the part of a model call's name before its turn. */
function pathOf(name: string): string {
  return name.slice(0, name.lastIndexOf('turn '));
}

/** Returns an agent's part of the run at a path: other agents may have had the conversation before and after it. */
function runAt(agent: string, path: string, type: string, run: RunIntrospection): AgentRunIntrospection {
  const { id, service, requestId, acceptedAt, endedAt } = run;
  const all = run.steps.filter((step) => agentKinds.includes(step.kind) && isDirectlyIn(path, step.name));
  const ofOthers = all.filter(({ turn }) => turn?.agent !== undefined && turn.agent !== agent);
  const steps = all.filter((step) => !ofOthers.some(({ name }) => isWithin(name, step.name)));
  const calls = steps.filter(({ kind }) => kind === 'model');
  const workflow = workflowOf(type);
  const times = steps.flatMap((step) => [step.startedAt, step.endedAt].filter((at) => at !== undefined));
  const container = path.slice(0, -pathSeparator.length);
  const startedAt = times.length === 0 ? acceptedAt : Math.min(...times);
  const { status, error } = path === '' ? run : endOf(run, path, container, calls.at(-1));
  return {
    id,
    kind: workflow === undefined ? 'event' : 'workflow',
    type: workflow ?? type,
    service,
    requestId,
    step: container,
    status,
    startedAt,
    lastAt: Math.max(startedAt, ...times, ...(path === '' && endedAt !== undefined ? [endedAt] : [])),
    turns: calls.filter((call) => call.status === 'completed').length,
    toolCalls: sum(steps.map(({ kind, turn }) => (kind === 'tool' ? 1 : (turn?.vendorCalls ?? 0)))),
    usage: sumUsage(calls.flatMap(({ turn }) => turn?.usage ?? [])),
    ...(status === 'failed' && error !== undefined && { error: { name: error.name, message: error.message } }),
    steps: steps.slice(-maxSteps).map((step) => ({ ...step, name: step.name.slice(path.length) })),
  };
}

/** Returns true for a model call and for the calls that it requested. */
function isWithin(modelCall: string, name: string): boolean {
  return name === modelCall || name.startsWith(`${modelCall}${pathSeparator}`);
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** Returns true for a turn of the run at a path and for a call of one of its tools, not for steps inside the call. */
function isDirectlyIn(path: string, name: string): boolean {
  return name.startsWith(`${path}turn `) && name.slice(path.length).split(pathSeparator).length <= 2;
}

/** Returns how an agent's run inside the run of a workflow, or inside the call of a tool, ended if it has. */
function endOf(
  { steps, status, error }: RunIntrospection,
  path: string,
  container: string,
  lastCall: StepIntrospection | undefined,
): Pick<StepIntrospection, 'error'> & { readonly status: RunStatus } {
  const end = steps.find(({ name }) => name === container);
  if (end?.status === 'completed' || end?.status === 'failed') return { status: end.status, ...errorOf(end.error) };
  if (lastCall?.status === 'failed') return { status: 'failed', ...errorOf(lastCall.error) };
  const last = steps.findLast(({ endedAt }) => endedAt !== undefined);
  const isLater = last !== undefined && !last.name.startsWith(path);
  // In the function of a workflow an agent has no step of its own.
  if (end === undefined && (isLater || status === 'completed')) return { status: 'completed' };
  return { status, ...errorOf(error) };
}

function errorOf(error: StepIntrospection['error']): Pick<StepIntrospection, 'error'> {
  return error === undefined ? {} : { error };
}
