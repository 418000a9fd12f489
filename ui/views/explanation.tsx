import type { ComponentChildren, JSX } from 'preact';
import type { Blocker } from '../../server/dashboard/protocol.js';
import { ActionButton } from '../actions/actions.js';
import { cancelQuestion } from '../actions/questions.js';
import type { ShownExplanation } from '../api/decode-event.js';
import { formatMoment, formatTime } from '../format/clock-time.js';
import { formatAge, formatAgo, formatAhead, formatDuration } from '../format/duration.js';
import { counted, formatCount } from '../format/number.js';
import { Icon, type IconName } from '../shared/icon.js';
import { IdLink } from '../shared/links.js';

export interface ExplanationListProps {
  readonly explanation: ShownExplanation;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Number of holders of a slot that are listed. */
const MAX_HOLDERS = 5;

/** List of what holds an event or a run, and when it continues. */
export function ExplanationList({ explanation, now, query }: ExplanationListProps): JSX.Element {
  const { type, blockers, waiting = 0, expectedAt } = explanation;
  return (
    <section class="card explanation" aria-labelledby="explanation-title">
      <h3 id="explanation-title">
        Why <bdi>{type}</bdi> does not run
      </h3>
      <ul>
        {blockers.map((blocker, index) => (
          <Line key={index} icon={ALARMING.includes(blocker.kind) ? 'triangle' : 'clock'}>
            <BlockerFacts blocker={blocker} now={now} query={query} />
            <HolderActions type={type} blocker={blocker} />
          </Line>
        ))}
        {blockers.length === 0 && <Line icon="check">Nothing holds it.</Line>}
        {waiting > 1 && <Line icon="dashes">{formatCount(waiting)} of the type wait for a slot</Line>}
        {expectedAt && (
          <Line icon="clock">
            It continues at <time dateTime={new Date(expectedAt).toISOString()}>{timeText(expectedAt, now)}</time>.
          </Line>
        )}
      </ul>
    </section>
  );
}

function Line({ icon, children }: { icon: IconName; children: ComponentChildren }): JSX.Element {
  return (
    <li>
      <Icon name={icon} />
      <span>{children}</span>
    </li>
  );
}

export interface BlockerFactsProps {
  readonly blocker: Blocker;
  readonly now: number;
  readonly query: string;
}

/** Names what holds events or a run, with links to what has its slots. */
export function BlockerFacts({ blocker, now, query }: BlockerFactsProps): JSX.Element {
  const { runId, processes = [] } = blocker;
  const holders: NonNullable<Blocker['holders']> = runId === undefined ? (blocker.holders ?? []) : [{ id: runId }];
  return (
    <>
      {blocker.child && <bdi>{blocker.child}: </bdi>}
      {blockerText(blocker, now)}
      {holders.length > 0 && ': '}
      {holders.slice(0, MAX_HOLDERS).map(({ id, since }) => (
        <span key={id} class="explanation-holder">
          <IdLink id={id} name={runId === undefined ? 'event' : 'run'} query={query} />
          {since && ` for ${formatAge(now - since)}`}
        </span>
      ))}
      {holders.length > MAX_HOLDERS && ` and ${formatCount(holders.length - MAX_HOLDERS)} more`}
      {processes.map(({ id, host, active, slots }) => (
        <span key={id} class="explanation-holder">
          {host} runs {formatCount(active)} of {formatCount(slots)}
        </span>
      ))}
    </>
  );
}

export interface HolderActionsProps extends Pick<BlockerFactsProps, 'blocker'> {
  /** Event type whose events hold the slots. */
  readonly type: string;
}

/** Cancels an event that holds a slot. Absent for other blockers: their holders may hold something else. */
export function HolderActions({ type, blocker: { kind, holders = [] } }: HolderActionsProps): JSX.Element | null {
  if (kind !== 'concurrency') return null;
  return (
    <div class="action-row">
      {holders.slice(0, MAX_HOLDERS).map(({ id }) => (
        <ActionButton key={id} label={`Cancel event ${id.slice(0, 8)}`} question={cancelQuestion({ id, type })} />
      ))}
    </div>
  );
}

/** Kinds that need a person. */
const ALARMING: readonly Blocker['kind'][] = ['no-process', 'version', 'crash-isolation'];

/**
 * Describes what holds an event or a run, and what ends it.
 *
 * @param now current time in epoch milliseconds on the server's clock
 */
export function blockerText(blocker: Blocker, now: number): string {
  const text = uncapitalizedText(blocker, now);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function uncapitalizedText(blocker: Blocker, now: number): string {
  const { kind, until, since, step, eventType, by, reason, release, version, limit, limitName } = blocker;
  const { kept, dropped = 0, holders } = blocker;
  const at = until === undefined ? null : timeText(until, now);
  const waited = since === undefined ? '' : ` for ${formatAge(now - since)}`;
  const latest = at === null ? '' : `, until ${at} at the latest`;
  const subject = step === undefined ? '' : `step ${step} `;
  switch (kind) {
    case 'delay':
      return `${subject}waits${at === null ? '' : ` until ${at}`}`;
    case 'retry':
      return `${subject || 'an attempt '}failed, ${subject ? 'its next attempt' : 'the next one'} ${at === null ? 'is due' : `starts at ${at}`}`;
    case 'wait-event':
      return `${subject}waits for the event ${eventType}${waited}${latest}`;
    case 'wait-approval':
      return `${subject}waits for an approval${waited}${latest}`;
    case 'child-run':
      return `${subject}waits for its child run${waited}`;
    case 'inbox':
      return kept === undefined
        ? 'A run keeps it until it waits for it:'
        : `Its inbox keeps ${counted(kept, 'event')} that no wait takes${dropped > 0 ? `; it dropped ${formatCount(dropped)}` : ''}`;
    case 'crash-isolation':
      return holders === undefined
        ? `it waits until it can run alone, after crashes${waited}`
        : `every process of its service runs an event alone${waited}, after crashes`;
    case 'paused':
      return `Paused by ${by}${since === undefined ? '' : ` ${formatAgo(now - since)}`}: ${reason}`;
    case 'no-process': {
      const last = release === undefined ? 'the last one' : `the last one, of release ${release},`;
      return `No process of its service runs it${since === undefined ? '' : `; ${last} ended ${formatAgo(now - since)}`}`;
    }
    case 'version':
      return `No process has version ${version} of the workflow`;
    case 'concurrency':
      return limit === 1 ? 'Its only slot is taken' : `All ${formatCount(Number(limit))} slots of the type are taken`;
    case 'process-slots':
      return 'Every process of its service is full';
    case 'rate':
      return `The rate of ${ruleText(limit)} is used up, the next start is ${at === null ? 'later' : `at ${at} at the latest`}`;
    case 'limit':
      return `The limit ${limitName} of ${ruleText(limit)} is used up, it asks again ${at === null ? 'soon' : `at ${at}`}`;
    case 'key':
      return `Events of its key run before it${limit === undefined ? '' : `, ${formatCount(Number(limit))} at a time`}`;
    // A newer server may have other kinds.
    default:
      return `${String(kind).replaceAll('-', ' ')}${waited}${latest}`;
  }
}

function ruleText(limit: Blocker['limit']): string {
  if (typeof limit === 'object') return `${formatCount(limit.max)} per ${formatDuration(limit.perMs)}`;
  return `${formatCount(limit ?? 1)} at once`;
}

const FAR_MS = 12 * 3_600_000;

/** Returns a time of day, or a day and a time if it is far, and the time until then. */
function timeText(at: number, now: number): string {
  if (at <= now) return formatTime(at);
  return `${at - now < FAR_MS ? formatTime(at) : formatMoment(at, now)} (in ${formatAhead(at - now)})`;
}
