import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Pause, Problem } from '../../server/dashboard/protocol.js';
import { type ChartMark, releaseMarks } from '../charts/release-marks.js';
import { counted, formatCount } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { groupBy } from '../shared/lists.js';
import { isNarrow, useInteraction } from '../shared/use-element.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { describePause, describeProblem, holdProblems, problemKey, REORDER_MS } from '../state/problems.js';
import { backlogText, isQueueProblem } from './backlog.js';
import { causeLabel } from './event-columns.js';

/** Number of problems that are shown before the user asks for all. */
const SHOWN = 3;

export interface NeedsAttentionProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** The worst problems of the hub, or one line if it has none. */
export function NeedsAttention({ monitor, navigation }: NeedsAttentionProps): JSX.Element {
  const list = useRef<HTMLElement>(null);
  const { isActive } = useInteraction(list);
  const health = monitor.store.health.value;
  const problems = useSteadyOrder(health?.problems ?? [], isActive, monitor.store.reading.value.at);
  const lines = useSteadyCount(Math.min(SHOWN, problems.length), 1);
  const [isOpen, setOpen] = useState(false);
  const count = health?.problemCount ?? 0;
  const releases = releaseMarks(monitor.store.releases.value);
  const isHidden = monitor.store.reading.value.range !== null;
  const first = problems.slice(0, lines);
  const shown = isOpen && lines > 0 ? problems : first;
  const more = count - first.length;
  const unlisted = count - problems.length;
  const hasRest = useSteadyCount(Number(more > 0), 0) > 0;
  return (
    <section ref={list} class={`attention${isHidden ? ' is-hidden' : ''}`} aria-labelledby="attention-title">
      <h2 id="attention-title" class="visually-hidden">
        Needs attention
      </h2>
      {isHidden && <HiddenProblems count={count} onShow={() => navigation.go({ selection: null })} />}
      {shown.length === 0 ? (
        <p class="attention-none">
          {health !== null && (
            <>
              <Icon name="check" /> Nothing failed in the last 5 min
            </>
          )}
        </p>
      ) : (
        <ul class="attention-list">
          {shown.map((problem) => (
            <ProblemLine
              key={problemKey(problem)}
              problem={problem}
              backlog={backlogOf(problem, monitor)}
              releases={releases}
              now={monitor.serverNow.value}
              query={navigation.query.value}
            />
          ))}
          {more > 0 && (
            // While the table is in use, it does not move for a further line.
            <li class="problem-rest" style={hasRest ? '' : 'position:absolute;inset:auto 0 0 auto'}>
              <button type="button" class="attention-more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                {isOpen ? 'Show fewer' : `+${more} more`}
              </button>
              <span>
                {!isOpen
                  ? hasRest && restText(problems.slice(lines), monitor.serverNow.value)
                  : unlisted > 0 && `${formatCount(unlisted)} more are not listed`}
              </span>
            </li>
          )}
        </ul>
      )}
      <Pauses pauses={health?.paused ?? []} now={monitor.serverNow.value} query={navigation.query.value} />
    </section>
  );
}

/** Names problems, or where they have no room, counts them by kind. */
function restText(problems: readonly Problem[], now: number): string {
  if (isNarrow()) {
    const byKind = [...groupBy(problems, ({ kind }) => causeLabel(kind))];
    return byKind.map(([label, { length }]) => `${label} (${length})`).join(', ');
  }
  const texts = problems.map((problem) => describeProblem(problem, now));
  return texts.map(({ subject, shortFact }) => `${subject} ${shortFact}`).join(' · ');
}

/** Line over the problems while a period is selected: they are those of now. Nothing below them moves. */
function HiddenProblems({ count, onShow }: { count: number; onShow: () => void }): JSX.Element {
  const problems = count === 0 ? 'Nothing needs' : counted(count, 'needs', 'need');
  return (
    <p class="attention-hidden">
      {problems} attention now; the counts are of the selected period.
      {count > 0 && (
        <button type="button" class="attention-more" onClick={onShow}>
          Show now
        </button>
      )}
    </p>
  );
}

interface PausesProps {
  readonly pauses: readonly Pause[];
  readonly now: number;
  /** Query that the links retain. */
  readonly query: string;
}

/** Lists what is paused, by whom, since when and why. */
function Pauses({ pauses, now, query }: PausesProps): JSX.Element | null {
  if (pauses.length === 0) return null;
  return (
    <ul class="attention-paused" aria-label="Paused">
      {pauses.map((pause) => {
        const { subject, path, text } = describePause(pause, now);
        return (
          <li key={JSON.stringify(pause.target)}>
            <Icon name="pause" />
            <span>
              <a href={path + query}>
                <bdi>{subject}</bdi>
              </a>{' '}
              {text}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the backlog of a problem in words; `null` if it is another problem. */
function backlogOf({ kind, eventType, workflow }: Problem, { store }: Monitor): string | null {
  if (!isQueueProblem(kind)) return null;
  const { hubNow } = store.reading.value;
  const event =
    eventType === undefined
      ? store.workflows.value.find(({ name }) => name === workflow)
      : store.rows.value.get(eventType)?.event.value;
  return event === undefined ? null : backlogText(event, hubNow);
}

interface ProblemLineProps {
  readonly problem: Problem;
  /** Backlog in words, of a problem that is one. */
  readonly backlog: string | null;
  readonly releases: readonly ChartMark[];
  readonly now: number;
  /** Query that the link retains. */
  readonly query: string;
}

function ProblemLine({ problem, backlog, releases, now, query }: ProblemLineProps): JSX.Element {
  const { icon, tone, level, subject, path, fact, shortFact, details } = describeProblem(problem, now, releases);
  const texts = backlog === null ? details : [backlog, ...details];
  const [cause, ...rest] = texts;
  return (
    <li class={`problem is-${tone}${level ? ` is-${level}` : ''}`}>
      <Icon name={icon} />
      <span class="visually-hidden">{tone === 'failed' ? 'Error: ' : 'Warning: '}</span>
      <a class="problem-subject" href={path + query} title={subject}>
        <bdi>{subject}</bdi>
      </a>
      <span class="problem-fact">{isNarrow() && rest[0] ? shortFact : fact}</span>
      <span class="problem-details">
        <span title={texts.join(' · ')}>{cause}</span>
        <span>{rest.map((text) => ` · ${text}`)}</span>
      </span>
    </li>
  );
}

/**
 * Returns the number of lines. It stays while the pointer or the focus is in the events table, so that the table does not
 * move. The first problem takes the line that a healthy hub has.
 */
function useSteadyCount(fresh: number, least: number): number {
  const last = useRef(fresh);
  const isTableInUse = document.querySelector('.events-table > tbody:is(:hover, :focus-within)') !== null;
  last.current = isTableInUse ? Math.min(fresh, Math.max(least, last.current)) : fresh;
  return last.current;
}

/** Returns the problems in an order that changes at most every 10 seconds and not while it is held. */
function useSteadyOrder(fresh: readonly Problem[], isHeld: boolean, at: number): readonly Problem[] {
  const last = useRef({ orderedAt: Number.NEGATIVE_INFINITY, shown: fresh });
  const { orderedAt, shown } = last.current;
  const isSteady = isHeld || at - orderedAt < REORDER_MS;
  const next = isSteady ? holdProblems(shown, fresh) : fresh;
  last.current = { orderedAt: isSteady ? orderedAt : at, shown: next };
  return next;
}
