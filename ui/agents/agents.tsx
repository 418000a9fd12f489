import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AgentOverview } from '../../server/dashboard/protocol.js';
import { HourBars } from '../charts/hour-bars.js';
import { formatDuration, formatPercentile, HOUR } from '../format/duration.js';
import { counted, formatCost, formatCount, formatPercent, UNKNOWN } from '../format/number.js';
import { Segments } from '../shared/choices.js';
import { Count, ShareBar } from '../shared/counts.js';
import { groupBy, sumOf } from '../shared/lists.js';
import { Name } from '../shared/name.js';
import { useShown } from '../shared/use-element.js';
import { ViewSection } from '../shared/view-section.js';
import { useSorted, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { HubStore } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, openAgent, viewPath } from '../state/navigation.js';
import { AgentRuns } from './agent-runs.js';

export interface AgentsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** View of the hub's agents. */
export function Agents({ monitor, navigation }: AgentsProps): JSX.Element {
  const { store } = monitor;
  const { name } = navigation.route.value;
  const query = navigation.query.value;
  const agents = store.agents.value;
  const open = openAgent(name, agents);
  const shown = agents.filter((agent) => agent.name === open);
  const now = store.reading.value.hubNow;
  const uses = agentUses(store);
  return (
    <ViewSection
      view="agents"
      store={store}
      aside={<span class="panel-period">since start · approvals now · cost in the currency of the prices</span>}
      isEmpty={agents.length === 0}
      unknown={shown.length === 0 ? open : null}
      hint={
        <>
          Register an event type with <code>agent.asHandler()</code> as its handler, and the agent appears here.
        </>
      }
    >
      <AgentTable agents={agents} uses={uses} open={open} query={query} />
      <AgentSpending agents={shown.length === 0 ? agents : shown} now={now} />
      {shown.map((agent) => (
        <AgentRuns key={agent.name} agent={agent.name} monitor={monitor} query={query} />
      ))}
    </ViewSection>
  );
}

export interface AgentTableProps {
  readonly agents: readonly AgentOverview[];
  readonly uses: ReturnType<typeof agentUses>;
  /** Name of the open agent. */
  readonly open: string | null;
  /** Query that links retain. */
  readonly query: string;
}

/** Table of agents. Its columns sort. */
function AgentTable({ agents, uses, open, query }: AgentTableProps): JSX.Element {
  const [sorted, order] = useSorted(agents, ({ name }) => name, 'Tokens', {
    Agent: ({ name }) => name,
    Model: ({ model }) => model,
    Runs: (agent) => summarizeRuns(agent).total,
    'Failure rate': (agent) => summarizeRuns(agent).failureRatio,
    'Tokens per run': (agent) => agent.tokenUsage.totalTokens / summarizeRuns(agent).begun || null,
    'Running p95': ({ durationMs }) => durationMs?.p95 ?? null,
    Tokens: ({ tokenUsage }) => tokenUsage.totalTokens,
    Cost: ({ tokenUsage }) => tokenUsage.cost ?? null,
    Approvals: ({ approvalsWaiting = null }) => approvalsWaiting,
  });
  const tokens = sumOf(agents, ({ tokenUsage }) => tokenUsage.totalTokens);
  return (
    <ViewTable caption="Agents" columns={[...order.sortable, 'Used by']} class="agents-table" order={order}>
      {sorted.map((agent) => (
        <AgentRow
          key={agent.name}
          agent={agent}
          uses={uses.get(agent.name) ?? []}
          isOpen={agent.name === open}
          allTokens={tokens}
          query={query}
        />
      ))}
    </ViewTable>
  );
}

const SPENDINGS = ['tokens', 'cost', 'runs'] as const;
const SPENDING_LABEL: Record<(typeof SPENDINGS)[number], string> = { tokens: 'Tokens', cost: 'Cost', runs: 'Runs' };

interface AgentSpendingProps {
  readonly agents: readonly AgentOverview[];
  readonly now: number;
}

/** Chart of the tokens, the cost or the runs of agents by the hour. */
function AgentSpending({ agents, now }: AgentSpendingProps): JSX.Element {
  const [shown, setShown] = useState<(typeof SPENDINGS)[number]>('tokens');
  const valueAt = (at: number): number | null => {
    const hours = agents.flatMap(({ hours: all = [] }) => all.filter((hour) => hour.at === at));
    if (shown !== 'cost') return sumOf(hours, (hour) => hour[shown]);
    const paid = hours.filter(({ tokens }) => tokens > 0);
    return paid.some(({ cost }) => cost === undefined) ? null : sumOf(paid, ({ cost = 0 }) => cost);
  };
  const current = Math.floor(now / HOUR) * HOUR;
  const bars = Array.from({ length: 24 }, (_, index) => current - (23 - index) * HOUR).map((at) => ({
    at,
    endAt: at + HOUR,
    value: valueAt(at),
  }));
  const format = (value: number): string =>
    shown === 'cost' ? formatCost(value) : counted(value, shown === 'runs' ? 'run' : 'token');
  const isKnown = bars.every(({ value }) => value !== null);
  return (
    <section class="card chart-card" aria-labelledby="spending-title">
      <div class="chart-head">
        <h3 id="spending-title">
          {SPENDING_LABEL[shown]} per hour{' '}
          <span class="panel-period">
            24 h{isKnown && `: ${format(sumOf(bars, ({ value }) => value ?? 0))}`} ·{' '}
            {agents.length === 1 ? agents[0]?.name : `${formatCount(agents.length)} agents`}
          </span>
        </h3>
        <Segments
          label="Values of the chart"
          options={SPENDINGS}
          nameOf={(each) => SPENDING_LABEL[each]}
          value={shown}
          onChange={setShown}
        />
      </div>
      <HourBars label={`${SPENDING_LABEL[shown]} per hour`} bars={bars} now={now} format={format} />
    </section>
  );
}

interface AgentRowProps {
  readonly agent: AgentOverview;
  readonly uses: readonly AgentUse[];
  readonly isOpen: boolean;
  /** Tokens of all agents. */
  readonly allTokens: number;
  readonly query: string;
}

function limitNotes({ spendLimits = [] }: AgentOverview, unit: 'tokens' | 'cost'): JSX.Element[] {
  const limits = spendLimits.filter((limit) => limit.unit === unit);
  return limits.map(({ max, perMs, isKeyed }) => (
    <ViewTableNote key={perMs}>
      limit {unit === 'cost' ? formatCost(max) : formatCount(max)} per {formatDuration(perMs)}
      {isKeyed && ' and key'}
    </ViewTableNote>
  ));
}

interface OtherAgentsProps {
  readonly verb: string;
  readonly names: readonly string[];
  readonly query: string;
}

/** Note with links to other agents, if there are any. */
function OtherAgents({ verb, names, query }: OtherAgentsProps): JSX.Element | null {
  if (names.length === 0) return null;
  const items = names.map((label) => ({ label, path: viewPath('agents', label) }));
  return (
    <ViewTableNote>
      {verb} <Links items={items} query={query} />
    </ViewTableNote>
  );
}

function AgentRow({ agent, uses, isOpen, allTokens, query }: AgentRowProps): JSX.Element {
  const { name, description, model, tools, handoffs = [], tokenUsage, durationMs, approvalsWaiting } = agent;
  const { tokenBudget, costBudget, delegates } = agent;
  const row = useShown<HTMLTableRowElement>(isOpen);
  const { total, begun, failureRatio, exceptions } = summarizeRuns(agent);
  const { totalTokens, cost, cachedTokens, reasoningTokens } = tokenUsage;
  const average = (tokens: number): string => formatCount(Math.round(tokens / begun));
  return (
    <tr ref={row} data-open={isOpen}>
      <th scope="row">
        <a class="view-table-name" href={viewPath('agents', name) + query}>
          <Name>{name}</Name>
        </a>
        {description && <ViewTableNote>{description}</ViewTableNote>}
        {tools.length > 0 && <ViewTableNote>Tools: {tools.join(', ')}</ViewTableNote>}
        <OtherAgents verb="Delegates to" names={delegates.filter((other) => !handoffs.includes(other))} query={query} />
        <OtherAgents verb="Hands over to" names={handoffs} query={query} />
      </th>
      <ViewTableCell label="Model">
        <Name>{model}</Name>
      </ViewTableCell>
      <ViewTableCell label="Runs">
        <Count value={total} />
        {exceptions.map((exception) => (
          <ViewTableNote key={exception}>{exception}</ViewTableNote>
        ))}
      </ViewTableCell>
      <ViewTableCell label="Failure rate" isFailed={!!failureRatio}>
        {formatPercent(failureRatio)}
      </ViewTableCell>
      <ViewTableCell label="Tokens per run">
        {begun > 0 ? average(totalTokens) : UNKNOWN}
        {begun > 0 && cachedTokens !== undefined && <ViewTableNote>{average(cachedTokens)} cached</ViewTableNote>}
        {begun > 0 && reasoningTokens !== undefined && (
          <ViewTableNote>{average(reasoningTokens)} reasoning</ViewTableNote>
        )}
        {tokenBudget !== undefined && <ViewTableNote>budget {formatCount(tokenBudget)}</ViewTableNote>}
      </ViewTableCell>
      <ViewTableCell label="Running p95">{formatPercentile(durationMs?.p95 ?? null)}</ViewTableCell>
      <ViewTableCell label="Tokens">
        <Count value={totalTokens} />
        {totalTokens < allTokens && (
          <>
            <ShareBar share={totalTokens / allTokens} />
            <span class="visually-hidden">{formatPercent(totalTokens / allTokens)} of all agents</span>
          </>
        )}
        {limitNotes(agent, 'tokens')}
      </ViewTableCell>
      <ViewTableCell label="Cost">
        {cost === undefined ? UNKNOWN : formatCost(cost)}
        {costBudget !== undefined && <ViewTableNote>budget {formatCost(costBudget)} per run</ViewTableNote>}
        {limitNotes(agent, 'cost')}
      </ViewTableCell>
      <ViewTableCell label="Approvals">
        {approvalsWaiting ? (
          <a class="tone-stale" href={viewPath('waits') + query}>
            {formatCount(approvalsWaiting)}
          </a>
        ) : (
          (approvalsWaiting ?? UNKNOWN)
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
            <Name>{label}</Name>
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
  /** Runs whose tokens are counted. Of older processes, those that ended, run or are suspended. */
  readonly begun: number;
  /** Failed runs divided by all runs; `null` before the first one. */
  readonly failureRatio: number | null;
  /** Numbers of runs with another status than completed, those that have not ended first, in words. */
  readonly exceptions: readonly string[];
}

/** Summarizes the numbers of runs by status. */
function summarizeRuns({ runs, active = 0, suspended = 0, begun }: AgentOverview): RunSummary {
  const total = sumOf(Object.values(runs), (count) => count);
  return {
    total,
    begun: begun ?? total + active + suspended,
    failureRatio: total === 0 ? null : (runs['failed'] ?? 0) / total,
    exceptions: Object.entries({ running: active, suspended, ...runs })
      .filter(([status, count]) => status !== 'completed' && count > 0)
      .map(([status, count]) => `${formatCount(count)} ${status.replaceAll('_', ' ')}`),
  };
}

/** Event type or workflow step that runs an agent. */
interface AgentUse {
  readonly label: string;
  /** Hash of its view, without a query. */
  readonly path: string;
}

/** Returns the event types and workflow steps of a hub that run an agent, by its name. */
function agentUses({ rows, workflows }: HubStore): ReadonlyMap<string | undefined, readonly AgentUse[]> {
  const events = [...rows.value.values()].map(({ type, details }) => ({
    agent: details?.agent?.name,
    label: type,
    path: viewPath('events', type),
  }));
  const steps = workflows.value.flatMap((workflow) =>
    workflow.steps.map(({ agent, name }) => ({
      agent,
      label: `${workflow.name}: ${name}`,
      path: viewPath('workflows', workflow.name),
    })),
  );
  return groupBy([...events, ...steps], ({ agent }) => agent);
}
