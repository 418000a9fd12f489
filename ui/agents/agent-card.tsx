import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AgentIntrospection } from '../../server/dashboard/protocol.js';
import { formatCount } from '../format/count.js';
import { viewPath } from '../routing/route.js';
import { Count } from '../shared/count.js';
import { Stat, type StatProps } from '../shared/stat.js';
import type { AgentUse } from './agent-uses.js';

/** Label, icon and colour of each run status. */
const RUN_STATUS_LOOK = new Map<string, Pick<StatProps, 'label' | 'icon' | 'tone'>>([
  ['completed', { label: 'Completed', icon: 'check', tone: 'completed' }],
  ['failed', { label: 'Failed', icon: 'triangle', tone: 'failed' }],
  ['max_iterations', { label: 'Max iterations', icon: 'clock', tone: 'stale' }],
  ['token_budget_exceeded', { label: 'Token budget exceeded', icon: 'clock', tone: 'stale' }],
  ['aborted', { label: 'Aborted', icon: 'close' }],
]);

export interface AgentCardProps {
  readonly agent: AgentIntrospection;
  readonly uses: readonly AgentUse[];
  /** True if the URL names this agent. */
  readonly isOpen: boolean;
  /** Query that links retain. */
  readonly query: string;
}

/** Card of an agent with its configuration, run counts and token usage. */
export function AgentCard({ agent, uses, isOpen, query }: AgentCardProps): JSX.Element {
  const { name, description, model, tools, delegates, runs, tokenUsage } = agent;
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isOpen) card.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  const seen = Object.keys(runs).filter((status) => runs[status] !== 0);
  const statuses = new Set(['completed', 'failed', ...seen]);
  return (
    <article ref={card} class="card agent" aria-label={name} data-open={isOpen}>
      <h3 class="agent-name">
        <bdi>{name}</bdi>
      </h3>
      {description && <p class="muted">{description}</p>}
      <dl class="stats">
        {[...statuses].map((status) => {
          const { label, ...look } = RUN_STATUS_LOOK.get(status) ?? { label: status };
          return (
            <Stat key={status} label={label} {...look} title={`Runs with the status ${status}`}>
              <Count value={runs[status] ?? 0} />
            </Stat>
          );
        })}
        <Stat label="Tokens">
          <Count value={tokenUsage.totalTokens} />
        </Stat>
      </dl>
      <dl class="facts">
        <Fact label="Model" items={[model]} />
        <Fact label="Tools" items={tools} />
        <Fact label="Delegates to" items={delegates.map((other) => link(viewPath('agents', other) + query, other))} />
        <Fact label="Used by" items={uses.map(({ label, path }) => link(path + query, label))} />
        <Fact
          label="Token usage"
          items={[
            `${formatCount(tokenUsage.promptTokens)} prompt`,
            `${formatCount(tokenUsage.completionTokens)} completion`,
          ]}
        />
      </dl>
    </article>
  );
}

function link(href: string, text: string): JSX.Element {
  return <a href={href}>{text}</a>;
}

/** List with a label. Absent if the list is empty. */
function Fact({ label, items }: { label: string; items: readonly (JSX.Element | string)[] }): JSX.Element | null {
  if (items.length === 0) return null;
  return (
    <div>
      <dt>{label}</dt>
      <dd class="fact-list">
        {items.map((item, index) => (
          <span key={index}>{item}</span>
        ))}
      </dd>
    </div>
  );
}
