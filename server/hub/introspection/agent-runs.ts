import type { Redactor } from '../../redaction/redactor.js';
import type { RunRecord, RunStatus } from '../../transports/transport.js';
import { workflowOf } from '../../transports/workflow-type.js';
import { sumUsage, type TurnUsage } from '../events/agent-support/turn-facts.js';
import { pathSeparator } from '../runs/engine/replay/run-entry.js';
import {
  introspectRun,
  type ListedStep,
  type RunIntrospection,
  type StepIntrospection,
} from '../runs/run-introspection.js';

/** Recorded run of an agent: the whole run of an event that the agent handles, or a part of a workflow's run. */
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
export function introspectAgentRuns(
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
  return [...paths].map((path) => runAt(path, type, run));
}

/** Returns the part of a model call's name before its turn. */
function pathOf(name: string): string {
  return name.slice(0, name.lastIndexOf('turn '));
}

function runAt(path: string, type: string, run: RunIntrospection): AgentRunIntrospection {
  const { id, service, requestId, acceptedAt, endedAt } = run;
  const steps = run.steps.filter((step) => agentKinds.includes(step.kind) && isDirectlyIn(path, step.name));
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
    toolCalls: steps.filter(({ kind }) => kind === 'tool').length,
    usage: sumUsage(calls.flatMap(({ turn }) => turn?.usage ?? [])),
    ...(status === 'failed' && error !== undefined && { error: { name: error.name, message: error.message } }),
    steps: steps.slice(-maxSteps).map((step) => ({ ...step, name: step.name.slice(path.length) })),
  };
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
