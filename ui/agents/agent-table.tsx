import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AgentOverview } from '../../server/dashboard/protocol.js';
import { formatCount, UNKNOWN } from '../format/count.js';
import { formatDuration } from '../format/duration.js';
import { formatPercent } from '../format/ratio.js';
import { viewPath } from '../routing/route.js';
import { Count } from '../shared/count.js';
import { averageTokens, formatCost, summarizeRuns } from './agent-summary.js';
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
    <div class="card">
      <table class="agents-table">
        <caption class="visually-hidden">Agents, with counts since the start</caption>
        <thead>
          <tr>
            {COLUMNS.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {agents.map((agent) => (
            <AgentRow
              key={agent.name}
              agent={agent}
              uses={usesOf(agent.name)}
              isOpen={agent.name === open}
              query={query}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface AgentRowProps {
  readonly agent: AgentOverview;
  readonly uses: readonly AgentUse[];
  readonly isOpen: boolean;
  readonly query: string;
}

function AgentRow({ agent, uses, isOpen, query }: AgentRowProps): JSX.Element {
  const { name, description, model, tools, delegates, runs, tokenUsage, costUsd, durationMs, approvalsWaiting } = agent;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  const { total, failureRatio, exceptions } = summarizeRuns(runs);
  const { cachedTokens, reasoningTokens } = tokenUsage;
  return (
    <tr ref={row} data-open={isOpen}>
      <th scope="row">
        <a class="agent-name" href={viewPath('agents', name) + query}>
          <bdi>{name}</bdi>
        </a>
        {description && <Note>{description}</Note>}
        {tools.length > 0 && <Note>Tools: {tools.join(', ')}</Note>}
        {delegates.length > 0 && (
          <Note>
            Delegates to{' '}
            <Links
              items={delegates.map((other) => ({ label: other, path: viewPath('agents', other) }))}
              query={query}
            />
          </Note>
        )}
      </th>
      <Cell label="Model">{model}</Cell>
      <Cell label="Runs">
        <Count value={total} />
        {exceptions.map(({ label, count }) => (
          <Note key={label}>
            {formatCount(count)} {label}
          </Note>
        ))}
      </Cell>
      <Cell label="Failure rate" isFailed={(failureRatio ?? 0) > 0}>
        {formatPercent(failureRatio)}
      </Cell>
      <Cell label="Tokens per run">
        {averageTokens(tokenUsage.totalTokens, total)}
        {cachedTokens !== undefined && <Note>{averageTokens(cachedTokens, total)} cached</Note>}
        {reasoningTokens !== undefined && <Note>{averageTokens(reasoningTokens, total)} reasoning</Note>}
      </Cell>
      <Cell label="Cost">{costUsd === undefined ? UNKNOWN : formatCost(costUsd)}</Cell>
      <Cell label="p95">{formatDuration(durationMs?.p95 ?? null)}</Cell>
      <Cell label="Approvals">
        {approvalsWaiting === undefined ? UNKNOWN : `${formatCount(approvalsWaiting)} waiting`}
      </Cell>
      <Cell label="Used by">{uses.length === 0 ? UNKNOWN : <Links items={uses} query={query} />}</Cell>
    </tr>
  );
}

interface CellProps {
  /** Label of the column, which the cell shows if the table has no columns. */
  readonly label: (typeof COLUMNS)[number];
  readonly isFailed?: boolean;
  readonly children: ComponentChildren;
}

function Cell({ label, isFailed = false, children }: CellProps): JSX.Element {
  return (
    <td data-label={label} class={isFailed ? 'tone-failed' : undefined}>
      <div>{children}</div>
    </td>
  );
}

function Note({ children }: { children: ComponentChildren }): JSX.Element {
  return <span class="agent-note">{children}</span>;
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
