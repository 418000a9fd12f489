import type { JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { formatDuration } from '../format/duration.js';
import { UNKNOWN } from '../format/number.js';
import { Icon, type IconName } from '../shared/icon.js';
import { useVisibleRange } from '../shared/use-element.js';
import { viewPath } from '../state/navigation.js';
import { placeOf, spanOf, type TraceRow, type TraceSpan, type TraceState } from './trace-rows.js';

export interface TraceTableProps {
  readonly rows: readonly TraceRow[];
  /** Id of the selected event. */
  readonly selected: string;
  /** Query that links retain. */
  readonly query: string;
}

/** Kinds that need no tag: events, their attempts, and steps that run a function. */
const PLAIN_KINDS: readonly string[] = ['event', 'attempt', 'run'];

/** Depth up to which rows are indented. */
const MAX_INDENT = 8;

/**
 * Waterfall of a request: a row per event, run, attempt and step, with its time as bars and as text. Of a thousand rows,
 * only those near the viewport are in the document.
 */
export function TraceTable({ rows, selected, query }: TraceTableProps): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const { from, to } = useVisibleRange(body, rows.length);
  const span = spanOf(rows);
  return (
    <div class="card">
      <table class="long-table trace-table" aria-rowcount={rows.length + 1}>
        <caption class="visually-hidden">
          Events, runs, attempts and steps of the request, as a tree. Each row has its waiting and running time.
        </caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Name</th>
            <th scope="col">Status</th>
            <th scope="col" class="trace-ms">
              Waited
            </th>
            <th scope="col" class="trace-ms">
              Ran
            </th>
            <th scope="col" class="trace-axis">
              <span>0</span>
              <span class="visually-hidden"> to </span>
              <span>{formatDuration(span.to - span.from)}</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body} style={{ '--rows': rows.length }}>
          {rows.slice(from, to).map((row, offset) => (
            <Row
              key={row.key}
              row={row}
              index={from + offset}
              span={span}
              isSelected={row.event?.id === selected}
              query={query}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: TraceRow;
  /** Index in the table body. */
  readonly index: number;
  readonly span: TraceSpan;
  readonly isSelected: boolean;
  readonly query: string;
}

function Row({ row, index, span, isSelected, query }: RowProps): JSX.Element {
  const { depth, kind, name, state, bars, waitedMs, ranMs, note, event } = row;
  const [icon, label, tone] = TRACE_STATE.get(state) ?? ['dot', state, 'muted'];
  return (
    <tr
      class={`long-row trace-row is-${event === null ? 'part' : 'event'}`}
      data-open={isSelected}
      aria-rowindex={index + 2}
      style={{ '--index': index }}
    >
      <th scope="row" class="trace-name" style={{ '--depth': Math.min(MAX_INDENT, depth) }}>
        <span class="visually-hidden">Level {depth + 1}: </span>
        {event === null ? (
          <bdi title={name}>{name}</bdi>
        ) : (
          <a
            href={viewPath('requests', event.id) + query}
            title={`${name} ${event.id}`}
            aria-current={isSelected ? 'true' : undefined}
          >
            <bdi>{name}</bdi>
          </a>
        )}
        {!PLAIN_KINDS.includes(kind) && <span class="tag">{kind}</span>}
        {note !== '' && <Note text={note} />}
      </th>
      <td class={`trace-state state is-${tone}`}>
        <Icon name={icon} />
        {label}
      </td>
      <Time ms={waitedMs} />
      <Time ms={ranMs} />
      <td class="trace-bars" aria-hidden="true">
        {bars.map((bar, at) => {
          const { left, width } = placeOf(bar, span);
          // A bar's place is its identity, because bars are only appended.
          return <i key={at} class={`trace-bar is-${bar.tone}`} style={{ left: `${left}%`, width: `${width}%` }} />;
        })}
      </td>
    </tr>
  );
}

function Time({ ms }: { ms: number | null }): JSX.Element {
  return (
    <td class="trace-ms" data-known={ms !== null}>
      {ms === null ? UNKNOWN : formatDuration(ms)}
    </td>
  );
}

/** Note of a row. A press shows all of it. */
function Note({ text }: { text: string }): JSX.Element {
  const id = useId();
  return (
    <>
      <button type="button" class="trace-note" popovertarget={id}>
        {text}
      </button>
      <div id={id} popover="auto" class="popover">
        {text}
      </div>
    </>
  );
}

/** Icon, word and tone of each state. A newer server may have others. */
export const TRACE_STATE: ReadonlyMap<TraceState, readonly [icon: IconName, label: string, tone: string]> = new Map([
  ['waiting', ['dashes', 'Waiting', 'waiting']],
  ['delayed', ['clock', 'Delayed', 'suspended']],
  ['active', ['running', 'Running', 'active']],
  ['retrying', ['refresh', 'Retrying', 'retrying']],
  ['suspended', ['pause', 'Suspended', 'suspended']],
  ['completed', ['check', 'Completed', 'completed']],
  ['failed', ['triangle', 'Failed', 'failed']],
  ['cancelled', ['close', 'Cancelled', 'waiting']],
  ['interrupted', ['close', 'Interrupted', 'suspended']],
]);
