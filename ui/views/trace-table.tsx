import type { JSX } from 'preact';
import { useId, useRef } from 'preact/hooks';
import type { Progress } from '../../server/dashboard/protocol.js';
import { formatDuration } from '../format/duration.js';
import { Icon } from '../shared/icon.js';
import { lookOf } from '../shared/states.js';
import { useVisibleRange, useWidth } from '../shared/use-element.js';
import { viewPath } from '../state/navigation.js';
import { isOver } from '../workflows/step-bars.js';
import { type AxisMark, axisMarks, fitMarks, type TraceAxis } from './trace-axis.js';
import type { TraceRow } from './trace-rows.js';

export interface TraceTableProps {
  readonly rows: readonly TraceRow[];
  readonly axis: TraceAxis;
  /** Start of the request in epoch milliseconds. */
  readonly startedAt: number;
  /** Called with the key of a row that is to show the rows for which it stands, or to hide them. */
  readonly onToggle: (key: string) => void;
  /** Id of the selected event. */
  readonly selected: string;
  /** Query that links retain. */
  readonly query: string;
}

/** Kinds that need no tag: events, their attempts, steps that run a function, and turns whose calls are shown. */
const PLAIN_KINDS: readonly string[] = ['event', 'attempt', 'run', ''];

/** Depth up to which rows are indented. */
const MAX_INDENT = 8;

/**
 * Waterfall of a request: a row per event, run, attempt and step, with its time as bars and as text. Of a thousand rows,
 * only those near the viewport are in the document.
 */
export function TraceTable({ rows, axis, startedAt, onToggle, selected, query }: TraceTableProps): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const { from, to } = useVisibleRange(body, rows.length);
  const { span } = axis;
  const marks = axisMarks(axis, startedAt);
  const start = { left: 0, text: span.from === startedAt ? '0' : formatDuration(span.from - startedAt) };
  const end = { left: 100, text: formatDuration(span.to - startedAt) };
  return (
    <table class="long-table trace-table" aria-rowcount={rows.length + 1}>
      <caption class="visually-hidden">Events, runs, attempts and steps of the request, as a tree</caption>
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
            <AxisTexts marks={[start, end, ...marks.filter(({ isCut }) => !isCut)]} />
            <AxisTexts marks={marks.filter(({ isCut }) => isCut)} />
            <span class="visually-hidden">
              {start.text} to {end.text}
              {marks.map(({ isCut, text }) => isCut && `, ${text}`)}
            </span>
          </th>
        </tr>
      </thead>
      <tbody ref={body} class={to - from < rows.length ? '' : 'is-whole'} style={{ '--rows': rows.length }}>
        {rows.slice(from, to).map((row, offset) => (
          <Row
            key={row.key}
            row={row}
            index={from + offset}
            axis={axis}
            marks={marks}
            onToggle={onToggle}
            isSelected={row.event?.id === selected}
            query={query}
          />
        ))}
      </tbody>
    </table>
  );
}

/** Width that a text of the axis takes per character on either side of its place, in rem. */
const CHARACTER_REM = 0.35;

/** Line with the texts that have room. */
function AxisTexts({ marks }: Pick<RowProps, 'marks'>): JSX.Element {
  const line = useRef<HTMLSpanElement>(null);
  const width = useWidth(line, 'rem');
  return (
    <span ref={line} class="trace-tick" aria-hidden>
      {fitMarks(marks, (100 * CHARACTER_REM) / width).map(({ left, text }) => (
        <span key={left} style={{ left: `${left}%`, translate: `-${left}%` }}>
          {text}
        </span>
      ))}
    </span>
  );
}

interface RowProps {
  readonly row: TraceRow;
  /** Index in the table body. */
  readonly index: number;
  readonly axis: TraceAxis;
  readonly marks: readonly AxisMark[];
  readonly onToggle: TraceTableProps['onToggle'];
  readonly isSelected: boolean;
  readonly query: string;
}

function Row({ row, index, axis, marks, onToggle, isSelected, query }: RowProps): JSX.Element {
  const { key, depth, kind, name, state, bars, waitedMs, ranMs, note, event, isOpen } = row;
  const [icon, label, tone] = lookOf(state);
  const title = <bdi title={name}>{name}</bdi>;
  return (
    <tr
      class={`long-row trace-row ${event === null ? 'is-part' : ''}`}
      data-open={isSelected}
      aria-rowindex={index + 2}
      style={{ '--index': index }}
    >
      <th scope="row" class="trace-name" style={{ '--depth': Math.min(MAX_INDENT, depth) }}>
        <span class="trace-title">
          <span class="visually-hidden">Level {depth + 1}: </span>
          {isOpen !== undefined ? (
            <button type="button" class="trace-join" aria-expanded={isOpen} onClick={() => onToggle(key)}>
              <Icon name={isOpen ? 'open' : 'closed'} />
              {title}
            </button>
          ) : event === null ? (
            title
          ) : (
            <a href={viewPath('requests', event.id) + query} title={`${name} ${event.id}`} aria-current={isSelected}>
              <bdi>{name}</bdi>
            </a>
          )}
          {!PLAIN_KINDS.includes(kind) && <span class="tag">{kind}</span>}
          {event?.progress && <ProgressBar {...event.progress} />}
        </span>
        {note !== '' && <Note text={note} />}
      </th>
      <td class={`trace-state state is-${tone}`}>
        <Icon name={icon} />
        <span class={event === null && state === 'completed' ? 'visually-hidden' : ''}>{label}</span>
      </td>
      <Time label="waited" ms={waitedMs} />
      <Time label="ran" ms={ranMs} />
      <td class="trace-bars" aria-hidden>
        {marks.map(({ left, isCut }) => (
          <i key={left} class={isCut ? 'trace-cut' : 'trace-line'} style={{ left: `${left}%` }} />
        ))}
        {bars.map(({ from, to, tone, isModel }, at) => {
          const [left, right] = [axis.place(from), axis.place(to)];
          const waitsNow = tone === 'waiting' && at === bars.length - 1 && !isOver(state);
          const isOutside = to < axis.span.from || from > axis.span.to;
          return (
            // A bar's place is its identity, because bars are only appended.
            !isOutside && (
              <i
                key={at}
                class={`trace-bar is-${waitsNow ? 'suspended' : tone} ${isModel ? 'is-model' : ''}`}
                style={{ left: `${left}%`, width: `${right - left}%` }}
              />
            )
          );
        })}
      </td>
    </tr>
  );
}

/** Progress that a run published. */
function ProgressBar({ progress }: Progress): JSX.Element {
  const percent = `${Math.floor(progress * 100)}%`;
  return (
    <span class="slots">
      <meter min={0} max={1} value={progress} aria-label={`Progress ${percent}`} />
      {percent}
    </span>
  );
}

/** Time in a row. Without columns, the label stands before it, and none of zero is shown. */
function Time({ label, ms }: { label: string; ms: number | null }): JSX.Element {
  return (
    <td class="trace-ms" data-label={ms ? label : undefined}>
      {formatDuration(ms)}
    </td>
  );
}

/** Note of a row. A press shows all of it. */
function Note({ text }: { text: string }): JSX.Element {
  const id = useId();
  return (
    <>
      <button type="button" class="trace-note" popovertarget={id}>
        <span>{text}</span>
      </button>
      <div id={id} popover="auto">
        {text}
      </div>
    </>
  );
}
