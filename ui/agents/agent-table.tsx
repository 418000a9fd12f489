import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AgentOverview } from '../../server/dashboard/protocol.js';
import { formatCost } from '../format/cost.js';
import { formatCount, UNKNOWN } from '../format/count.js';
import { formatDuration } from '../format/duration.js';
import { formatPercent } from '../format/ratio.js';
import { viewPath } from '../routing/route.js';
import { Count } from '../shared/count.js';
import { ViewTable, ViewTableCell, ViewTableNote } from '../shared/views/view-table.js';
import { averageTokens, summarizeRuns } from './agent-summary.js';
import type { AgentUse } from './agent-uses.js';

export interface AgentTableProps {
  readonly agents: readonly AgentOverview[];
  /** Returns the event types and workflow steps that run an agent. */
  readonly usesOf: (name: string) => readonly AgentUse[];
  /** Name of the open agent. */
  readonly open: string | null;
  /** Query that links retain. */
  readonly query: string;
}

const COLUMNS = [
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
export function AgentTable({ agents, usesOf, open, query }: AgentTableProps): JSX.Element {
  return (
    <ViewTable caption="Agents, with counts and durations since the start" columns={COLUMNS} class="agents-table">
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
  const { total, failureRatio, exceptions } = summarizeRuns(agent);
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
        {averageTokens(tokenUsage.totalTokens, total)}
        {total > 0 && cachedTokens !== undefined && (
          <ViewTableNote>{averageTokens(cachedTokens, total)} cached</ViewTableNote>
        )}
        {total > 0 && reasoningTokens !== undefined && (
          <ViewTableNote>{averageTokens(reasoningTokens, total)} reasoning</ViewTableNote>
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
