import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AgentOverview, AgentRunIntrospection, StepIntrospection } from '../../server/dashboard/protocol.js';
import { formatDateTime } from '../format/clock-time.js';
import { formatAgo, formatDuration } from '../format/duration.js';
import { formatCost, formatCount, formatPercent, UNKNOWN } from '../format/number.js';
import { Count } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { RunLink } from '../shared/links.js';
import { LoadedContent, ViewSection } from '../shared/view-section.js';
import { BoundedRows, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { type TraceState, turnFacts } from './trace-rows.js';
import { TRACE_STATE } from './trace-table.js';

export interface AgentsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of the hub's agents. */
export function Agents({ monitor, navigation }: AgentsProps): JSX.Element {
  const { store } = monitor;
  const open = navigation.route.value.name;
  const query = navigation.query.value;
  const agents = store.agents.value;
  const runners = {
    events: [...store.rows.value.values()].map(({ event }) => event.value),
    workflows: store.workflows.value,
  };
  return (
    <ViewSection
      view="agents"
      store={store}
      aside={<span class="panel-period">since start · costs in the currency of your prices</span>}
      isEmpty={agents.length === 0}
      unknown={agents.some(({ name }) => name === open) ? null : open}
      hint={
        <>
          Register an event type with <code>agent.asHandler()</code> as its handler, and the agent appears here.
        </>
      }
    >
      <AgentTable agents={agents} usesOf={(name) => agentUses(name, runners)} open={open} query={query} />
      {agents.some(({ name }) => name === open) && (
        <AgentRuns key={open} agent={open ?? ''} monitor={monitor} query={query} />
      )}
    </ViewSection>
  );
}

export interface AgentTableProps {
  readonly agents: readonly AgentOverview[];
  /** Returns the event types and workflow steps that run an agent. */
  readonly usesOf: (name: string) => readonly AgentUse[];
  /** Name of the open agent. */
  readonly open: string | null;
  /** Query that links retain. */
  readonly query: string;
}

const AGENT_COLUMNS = [
  'Agent',
  'Model',
  'Runs',
  'Failure rate',
  'Tokens per run',
  'Cost',
  'p95',
  'Approvals',
  'Used by',
] as const;

/** Table of agents with their counts since the start. */
function AgentTable({ agents, usesOf, open, query }: AgentTableProps): JSX.Element {
  return (
    <ViewTable caption="Agents, with counts and durations since the start" columns={AGENT_COLUMNS} class="agents-table">
      {agents.map((agent) => (
        <AgentRow key={agent.name} agent={agent} uses={usesOf(agent.name)} isOpen={agent.name === open} query={query} />
      ))}
    </ViewTable>
  );
}

interface AgentRowProps {
  readonly agent: AgentOverview;
  readonly uses: readonly AgentUse[];
  readonly isOpen: boolean;
  readonly query: string;
}

function AgentRow({ agent, uses, isOpen, query }: AgentRowProps): JSX.Element {
  const { name, description, model, tools, delegates, tokenUsage, durationMs, approvalsWaiting } = agent;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  const { total, begun, failureRatio, exceptions } = summarizeRuns(agent);
  const { cachedTokens, reasoningTokens, cost } = tokenUsage;
  return (
    <tr ref={row} data-open={isOpen}>
      <th scope="row">
        <a class="view-table-name" href={viewPath('agents', name) + query}>
          <bdi>{name}</bdi>
        </a>
        {description && <ViewTableNote>{description}</ViewTableNote>}
        {tools.length > 0 && <ViewTableNote>Tools: {tools.join(', ')}</ViewTableNote>}
        {delegates.length > 0 && (
          <ViewTableNote>
            Delegates to{' '}
            <Links
              items={delegates.map((other) => ({ label: other, path: viewPath('agents', other) }))}
              query={query}
            />
          </ViewTableNote>
        )}
      </th>
      <ViewTableCell label="Model">{model}</ViewTableCell>
      <ViewTableCell label="Runs">
        <Count value={total} />
        {exceptions.map(({ label, count }) => (
          <ViewTableNote key={label}>
            {formatCount(count)} {label}
          </ViewTableNote>
        ))}
      </ViewTableCell>
      <ViewTableCell label="Failure rate" isFailed={(failureRatio ?? 0) > 0}>
        {formatPercent(failureRatio)}
      </ViewTableCell>
      <ViewTableCell label="Tokens per run">
        {averageTokens(tokenUsage.totalTokens, begun)}
        {begun > 0 && cachedTokens !== undefined && (
          <ViewTableNote>{averageTokens(cachedTokens, begun)} cached</ViewTableNote>
        )}
        {begun > 0 && reasoningTokens !== undefined && (
          <ViewTableNote>{averageTokens(reasoningTokens, begun)} reasoning</ViewTableNote>
        )}
      </ViewTableCell>
      <ViewTableCell label="Cost">{cost === undefined ? UNKNOWN : formatCost(cost)}</ViewTableCell>
      <ViewTableCell label="p95">{formatDuration(durationMs?.p95 ?? null)}</ViewTableCell>
      <ViewTableCell label="Approvals">
        {approvalsWaiting === undefined ? (
          UNKNOWN
        ) : approvalsWaiting === 0 ? (
          '0'
        ) : (
          <a class="tone-stale" href={viewPath('waits') + query}>
            {formatCount(approvalsWaiting)} waiting
          </a>
        )}
      </ViewTableCell>
      <ViewTableCell label="Used by">
        {uses.length === 0 ? UNKNOWN : <Links items={uses} query={query} />}
      </ViewTableCell>
    </tr>
  );
}

function Links({ items, query }: { items: readonly AgentUse[]; query: string }): JSX.Element {
  return (
    <>
      {items.map(({ label, path }, index) => (
        <span key={label}>
          {index > 0 && ', '}
          <a href={path + query}>
            <bdi>{label}</bdi>
          </a>
        </span>
      ))}
    </>
  );
}

/** Runs of an agent since the start. */
export interface RunSummary {
  /** Runs that ended. */
  readonly total: number;
  /** Runs whose tokens are counted: those that ended, run or are suspended. */
  readonly begun: number;
  /** Failed runs divided by all runs; `null` before the first one. */
  readonly failureRatio: number | null;
  /** Numbers of runs with another status than completed, those that have not ended first, in words. */
  readonly exceptions: readonly { readonly label: string; readonly count: number }[];
}

/** Summarizes the numbers of runs by status. */
function summarizeRuns({ runs, active = 0, suspended = 0 }: AgentOverview): RunSummary {
  const entries = Object.keys(runs).map((status) => ({ status, count: runs[status] ?? 0 }));
  const total = entries.reduce((sum, { count }) => sum + count, 0);
  return {
    total,
    begun: total + active + suspended,
    failureRatio: total === 0 ? null : (runs['failed'] ?? 0) / total,
    exceptions: [{ status: 'running', count: active }, { status: 'suspended', count: suspended }, ...entries]
      .filter(({ status, count }) => status !== 'completed' && count > 0)
      .map(({ status, count }) => ({ label: status.replaceAll('_', ' '), count })),
  };
}

/** Formats the average number of tokens per run. */
function averageTokens(tokens: number, runs: number): string {
  return runs === 0 ? UNKNOWN : formatCount(Math.round(tokens / runs));
}

/** Event type or workflow step that runs an agent. */
interface AgentUse {
  readonly label: string;
  /** Hash of its view, without a query. */
  readonly path: string;
}

/** Event types and workflows of a hub, which may run agents. */
export interface AgentRunners {
  readonly events: Iterable<{ readonly type: string; readonly agent?: { readonly name: string } }>;
  readonly workflows: readonly {
    readonly name: string;
    readonly steps: readonly { readonly name: string; readonly agent?: string }[];
  }[];
}

/** Returns the event types and workflow steps that run an agent. */
function agentUses(name: string, { events, workflows }: AgentRunners): readonly AgentUse[] {
  const uses: AgentUse[] = [];
  for (const { type, agent } of events) {
    if (agent?.name === name) uses.push({ label: type, path: viewPath('events', type) });
  }
  for (const workflow of workflows) {
    for (const step of workflow.steps) {
      if (step.agent === name) {
        uses.push({ label: `${workflow.name}: ${step.name}`, path: viewPath('workflows', workflow.name) });
      }
    }
  }
  return uses;
}

export interface AgentRunsProps {
  readonly agent: string;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

const RUN_COLUMNS = ['Run', 'Status', 'Turns', 'Tool calls', 'Tokens', 'Cost', 'Took', 'Started'] as const;

/** Number of runs that are shown first. */
const SHOWN_RUNS = 10;

/** Latest recorded runs of an agent, with their turns. */
function AgentRuns({ agent, monitor, query }: AgentRunsProps): JSX.Element {
  const { value } = monitor.agentRuns;
  return (
    <section class="agent-runs" aria-labelledby="agent-runs-title">
      <h3 id="agent-runs-title" class="view-part">
        Recent runs of <bdi>{agent}</bdi> <span class="panel-period">the latest 20</span>
      </h3>
      <LoadedContent
        monitor={monitor}
        data={value?.key === agent ? value : null}
        isEmpty={({ runs }) => runs.length === 0}
        emptyTitle="No recorded runs"
        hint="Runs are recorded if the agent handles an event, is a step of a pipeline, or runs in the function of a workflow."
      >
        {({ runs, now }) => (
          <ViewTable caption={`Recent runs of ${agent}, newest first`} columns={RUN_COLUMNS} class="agent-runs-table">
            <BoundedRows items={runs} limit={SHOWN_RUNS} noun="runs" columns={RUN_COLUMNS.length}>
              {(run) => (
                <RunRows
                  key={JSON.stringify([run.id, run.service, run.step])}
                  run={run}
                  now={Math.max(now, monitor.serverNow.value)}
                  query={query}
                />
              )}
            </BoundedRows>
          </ViewTable>
        )}
      </LoadedContent>
    </section>
  );
}

interface RunRowsProps {
  readonly run: AgentRunIntrospection;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly query: string;
}

function RunRows({ run, now, query }: RunRowsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { id, kind, type, step, status, turns, toolCalls, usage, error, startedAt, lastAt, steps } = run;
  const isOver = status === 'completed' || status === 'failed';
  const [icon, label, tone] = TRACE_STATE.get(status) ?? ['dot', status, 'muted'];
  return (
    <>
      <tr>
        <th scope="row">
          <RunLink id={id} kind={kind} type={type} query={query} />
          {step !== '' && <ViewTableNote>step {step}</ViewTableNote>}
          {error && (
            <ViewTableNote>
              <strong class="tone-failed">{error.name}</strong> {error.message}
            </ViewTableNote>
          )}
        </th>
        <ViewTableCell label="Status">
          <span class={`state is-${tone}`}>
            <Icon name={icon} />
            {label}
          </span>
        </ViewTableCell>
        <ViewTableCell label="Turns">
          {steps.length === 0 ? (
            <Count value={turns} />
          ) : (
            <button type="button" class="chip turns-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              <Icon name={isOpen ? 'open' : 'closed'} />
              {formatCount(turns)}
              <span class="visually-hidden">{isOpen ? ' turns, hide them' : ' turns, show them'}</span>
            </button>
          )}
        </ViewTableCell>
        <ViewTableCell label="Tool calls">
          <Count value={toolCalls} />
        </ViewTableCell>
        <ViewTableCell label="Tokens">
          <Count value={usage.totalTokens} />
        </ViewTableCell>
        <ViewTableCell label="Cost">{usage.cost === undefined ? UNKNOWN : formatCost(usage.cost)}</ViewTableCell>
        <ViewTableCell label="Took">{formatDuration((isOver ? lastAt : now) - startedAt)}</ViewTableCell>
        <ViewTableCell label="Started">
          <time dateTime={new Date(startedAt).toISOString()} title={formatDateTime(startedAt)}>
            {formatAgo(now - startedAt)}
          </time>
        </ViewTableCell>
      </tr>
      {isOpen && (
        <tr class="turns-row">
          <td colSpan={RUN_COLUMNS.length}>
            <ol class="turns" aria-label="Turns and tool calls">
              {steps.map((one) => (
                <Turn key={`${one.kind} ${one.name}`} step={one} />
              ))}
            </ol>
          </td>
        </tr>
      )}
    </>
  );
}

function Turn({ step }: { step: StepIntrospection }): JSX.Element {
  const { name, state, facts, isCall } = describeTurn(step);
  const [icon, label, tone] = TRACE_STATE.get(state) ?? ['dot', state, 'muted'];
  return (
    <li class={isCall ? 'turn is-call' : 'turn'}>
      <span class="turn-name">
        <bdi>{name}</bdi>
      </span>
      <span class={`state is-${tone}`}>
        <Icon name={icon} />
        {label}
      </span>
      <span class="turn-time">{formatDuration(step.durationMs ?? null)}</span>
      <span class="turn-facts">{facts.join(' · ')}</span>
    </li>
  );
}

/** Turn of an agent, or call of a tool in a turn, as the page shows it. */
export interface TurnView {
  readonly name: string;
  readonly state: TraceState;
  /** Call of a tool. */
  readonly isCall: boolean;
  readonly facts: readonly string[];
}

/** Describes a step of an agent's run. */
export function describeTurn(step: StepIntrospection): TurnView {
  const path = step.name.split(' / ');
  const isToolError = step.turn?.isToolError === true;
  const suspended = step.status === 'waiting' && step.waitsFor !== undefined;
  return {
    name: path.at(-1) ?? step.name,
    state: isToolError ? 'failed' : suspended ? 'suspended' : step.status,
    isCall: path.length > 1,
    facts: turnFacts(step),
  };
}
