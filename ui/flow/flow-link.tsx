import type { JSX } from 'preact';
import { formatAhead } from '../format/duration.js';
import { formatCount, formatPercent, formatRate } from '../format/number.js';
import { Icon, type IconName } from '../shared/icon.js';
import { viewPath } from '../state/navigation.js';
import { failureRatio } from '../state/recent-activity.js';
import type { FlowKind, FlowNode } from './flow-graph.js';

export interface FlowLinkProps {
  readonly node: FlowNode;
  /** Time of the counts, in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** It has room for a single fact. */
  readonly isLoose?: boolean;
  /** Service in a list, empty if it is that of the node above; absent in a map, where the place tells it. */
  readonly service?: string;
  /** Text before its counts. */
  readonly note?: string;
  /** Its counts stand elsewhere. */
  readonly isRepeated?: boolean;
  readonly isOpen: boolean;
  readonly query: string;
}

/** Name of a node with its counts, which links to its panel or its view. */
export function FlowLink({ node, now, isLoose, service, note, isRepeated, isOpen, query }: FlowLinkProps): JSX.Element {
  const { kind, name, received, failed, completed, pending, suspended, dueAt, isPaused, needsAttention, size } = node;
  const ratio = failureRatio({ completed, failed, cancelled: 0 });
  // The current minute and the five before it.
  const seconds = 300 + (now % 60_000) / 1_000;
  return (
    <a
      class={`is-${kind}${isLoose ? ' is-loose' : ''}${failed > 0 ? ' is-failing' : needsAttention || isPaused ? ' is-stale' : ''}`}
      href={hrefOf(node, query)}
      title={name}
      aria-current={isOpen ? 'true' : undefined}
    >
      <span class="flow-name">
        <Icon name={isPaused ? 'pause' : failed > 0 ? 'triangle' : needsAttention ? 'clock' : KIND_ICON[kind]} />
        <bdi>{name}</bdi>
        <span class="visually-hidden">
          , {kind}
          {needsAttention && ', needs attention'}
        </span>
        {service && <span class="chip-count">{service}</span>}
        {size > 1 && <span class="chip-count">{formatCount(size)}</span>}
        {suspended > 0 && !isRepeated && (
          <span class="tag flow-waits">
            {formatCount(suspended)}
            <span class={service === undefined ? 'visually-hidden' : undefined}> suspended</span>
          </span>
        )}
      </span>
      <span class="flow-facts">
        {note && <span>{note}</span>}
        {isPaused && <span class="tone-stale">paused</span>}
        {!isRepeated && (
          <>
            {dueAt !== undefined && <span>next in {formatAhead(dueAt - now)}</span>}
            {/* A line has room for two facts, beside a name for one. */}
            {received > 0 && !(isLoose && failed + pending > 0) && <span>{formatRate(received / seconds)}</span>}
            {failed > 0 ? (
              <span class="tone-failed">{formatPercent(ratio)} failed</span>
            ) : (
              // Beside a name, "paused" takes its place.
              pending > 0 &&
              !(isLoose && isPaused) && (
                <span class={needsAttention ? 'tone-stale' : undefined}>{formatCount(pending)} pending</span>
              )
            )}
          </>
        )}
      </span>
      {ratio !== null && ratio > 0 && <i class="flow-share" style={{ transform: `scaleX(${ratio})` }} />}
    </a>
  );
}

/** Icon of a node without trouble. */
export const KIND_ICON: Record<FlowKind, IconName> = {
  event: 'dot',
  workflow: 'ring',
  schedule: 'clock',
  group: 'more',
};

/** Returns the hash of a node: its panel beside the map, its view, or the types with its prefix. */
function hrefOf({ kind, name }: FlowNode, query: string): string {
  if (kind === 'event') return viewPath('flow', name) + query;
  if (kind === 'group') return `${viewPath('events')}?q=${encodeURIComponent(name)}`;
  return viewPath(kind === 'workflow' ? 'workflows' : 'schedules', name) + query;
}
