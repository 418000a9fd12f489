import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ErrorGroup, ErrorHour, GroupedFailure, ReleaseIntrospection } from '../../server/dashboard/protocol.js';
import { ErrorGroupActions } from '../actions/subject-actions.js';
import { latestRelease } from '../charts/release-marks.js';
import { counted, formatCount, formatRate } from '../format/number.js';
import { Segments } from '../shared/choices.js';
import { Count } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { IdLink, type IdLinkProps, TypeLink } from '../shared/links.js';
import { fromLargest, sumOf } from '../shared/lists.js';
import { Ago } from '../shared/times.js';
import { HourLine } from '../shared/trend-chart.js';
import { LoadedView } from '../shared/view-section.js';
import { BoundedRows, useSorted, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { HubStore } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';

export interface ErrorsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const FILTERS = ['all', 'new', 'open'] as const;
type ErrorFilter = (typeof FILTERS)[number];

/** View of the errors of all event types and workflows, as groups. */
export function Errors({ monitor, navigation }: ErrorsProps): JSX.Element {
  const [filter, setFilter] = useState<ErrorFilter>('all');
  const release = latestRelease(monitor.store.releases.value);
  const label: Record<ErrorFilter, string> = {
    all: 'All',
    new: release === undefined ? 'New in 24 h' : `New since ${release.release}`,
    open: 'With dead letters',
  };
  return (
    <LoadedView
      view="errors"
      monitor={monitor}
      data={monitor.errors.value}
      aside={
        <Segments
          label="Errors to list"
          options={FILTERS}
          nameOf={(each) => label[each]}
          value={filter}
          onChange={setFilter}
        />
      }
      isEmpty={({ groups }) => groups.length === 0}
      emptyTitle="No errors"
      hint="Errors of events, runs and steps appear here in groups."
    >
      {({ groups, now }) => (
        <ErrorTable
          groups={groups.filter((group) => matches(group, filter, release, now))}
          release={release}
          now={now}
          store={monitor.store}
          query={navigation.query.value}
        />
      )}
    </LoadedView>
  );
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Returns the terminal failures of the current hour and the 23 before it, the current one last. */
function bars24h(history: readonly ErrorHour[], now: number): readonly number[] {
  const current = Math.floor(now / HOUR_MS) * HOUR_MS;
  return Array.from(
    { length: 24 },
    (_, index) => history.find(({ at }) => at === current - (23 - index) * HOUR_MS)?.failures ?? 0,
  );
}

/** Tells whether a group began in the latest release, or without one in the last 24 hours. */
function isNew(
  { firstSeenAt, firstRelease }: ErrorGroup,
  release: ReleaseIntrospection | undefined,
  now: number,
): boolean {
  // A failure of another service, or of a process that still had the release before, is not due to this one.
  const isOther = release !== undefined && firstRelease !== undefined && firstRelease !== release.release;
  return !isOther && firstSeenAt >= (release?.startedAt ?? now - DAY_MS);
}

/** Returns the terminal failures of the last 24 hours. */
function failures24h({ history }: ErrorGroup, now: number): number {
  return sumOf(history, ({ at, failures }) => (at > now - DAY_MS ? failures : 0));
}

/** Fewest failures within an hour that can be a rise. */
const RISE = 5;

/**
 * Returns the failures per second of a group that fails more than three times as often as it did on average in the last
 * 24 hours: by its newest failures, and by the current hour, since many failures soon replace the newest ones.
 */
function riseOf(group: ErrorGroup, now: number): number | null {
  const { newest, history, firstSeenAt } = group;
  const spanMs = now - (newest.at(-1)?.at ?? 0);
  const hour = history.find(({ at }) => at === now - (now % HOUR_MS));
  if (newest.length < RISE || spanMs > HOUR_MS) return null;
  const recent = Math.max(
    newest.length / Math.max(spanMs, MINUTE_MS),
    (hour?.failures ?? 0) / Math.max(now % HOUR_MS, 5 * MINUTE_MS),
  );
  const average = failures24h(group, now) / Math.min(DAY_MS, Math.max(HOUR_MS, now - firstSeenAt));
  return recent > 3 * average ? recent * 1_000 : null;
}

/** Returns groups in the order of attention: those that rise, new ones, then by their failures of the last 24 hours. */
export function byAttention(
  groups: readonly ErrorGroup[],
  release: ReleaseIntrospection | undefined,
  now: number,
): readonly ErrorGroup[] {
  return fromLargest(groups, (group) => attention(group, release, now));
}

function attention(group: ErrorGroup, release: ReleaseIntrospection | undefined, now: number): number {
  const tier = (riseOf(group, now) === null ? 0 : 2) + Number(isNew(group, release, now));
  return tier * 1e12 + failures24h(group, now);
}

function matches(
  group: ErrorGroup,
  filter: ErrorFilter,
  release: ReleaseIntrospection | undefined,
  now: number,
): boolean {
  return filter === 'all' || (filter === 'new' ? isNew(group, release, now) : group.deadLetters > 0);
}

const COLUMNS = ['Error', 'In', 'Failures, 24 h', 'Last seen', 'Dead letters'];

/** Number of groups that are shown first. */
const SHOWN = 30;

interface ErrorTableProps {
  readonly groups: readonly ErrorGroup[];
  readonly release: ReleaseIntrospection | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly store: HubStore;
  readonly query: string;
}

function ErrorTable({ groups, release, now, store, query }: ErrorTableProps): JSX.Element {
  const [sorted, order] = useSorted(groups, ({ id }) => id, 'Attention', {
    Attention: (group) => attention(group, release, now),
    Error: ({ name, message }) => message || name,
    In: ({ eventType, workflow }) => eventType ?? workflow ?? '',
    'Failures, 24 h': (group) => failures24h(group, now),
    'All failures': ({ failures }) => failures,
    'First seen': ({ firstSeenAt }) => firstSeenAt,
    'Last seen': ({ lastSeenAt }) => lastSeenAt,
    'Dead letters': ({ deadLetters }) => deadLetters,
  });
  if (groups.length === 0) return <p class="muted">No such error.</p>;
  return (
    <ViewTable caption="Groups of errors" columns={COLUMNS} class="errors-table" order={order}>
      <BoundedRows items={sorted} limit={SHOWN} noun="errors" columns={COLUMNS.length}>
        {(group) => <ErrorRows key={group.id} group={group} release={release} now={now} store={store} query={query} />}
      </BoundedRows>
    </ViewTable>
  );
}

interface ErrorRowsProps extends Omit<ErrorTableProps, 'groups'> {
  readonly group: ErrorGroup;
}

/** Row of a group, and below it, if it is open, its newest failures. */
function ErrorRows({ group, release, now, store, query }: ErrorRowsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { name, message, eventType, workflow, failures, attempts, history, firstSeenAt, lastSeenAt } = group;
  const { firstRelease, lastRelease, deadLetters, newest } = group;
  const hours = bars24h(history, now);
  const inDay = sumOf(hours, Number);
  const last = isOpen ? lastMessage(group, store) : undefined;
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" class="error-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name={isOpen ? 'open' : 'closed'} />
            <span>
              <strong class="error-message">{message || name}</strong>{' '}
              {message && <span class="tone-failed">{name} </span>}
              <GroupTags group={group} release={release} now={now} />
            </span>
          </button>
        </th>
        <ViewTableCell label="In">
          <TypeLink
            class="view-table-name"
            kind={workflow === undefined ? 'event' : 'workflow'}
            type={workflow ?? eventType ?? ''}
            query={query}
          />
        </ViewTableCell>
        <ViewTableCell label="Failures, 24 h">
          <span class="error-day">
            <HourLine hours={hours} />
            <Count value={inDay} />
            <ViewTableNote>
              {[
                failures > inDay && `of ${formatCount(failures)} in all`,
                attempts > failures && counted(attempts, 'attempt'),
              ]
                .filter(Boolean)
                .join(', ')}
            </ViewTableNote>
          </span>
        </ViewTableCell>
        <ViewTableCell label="Last seen">
          <Ago at={lastSeenAt} now={now} /> <span class="muted">{lastRelease}</span>
          <ViewTableNote>
            first <Ago at={firstSeenAt} now={now} /> {firstRelease}
          </ViewTableNote>
        </ViewTableCell>
        <ViewTableCell label="Dead letters">
          <div class="error-letters">
            {deadLetters === 0 ? '0' : `${formatCount(deadLetters)} open`}
            <ErrorGroupActions group={group} now={now} />
          </div>
        </ViewTableCell>
      </tr>
      {isOpen && (
        <tr class="detail-row">
          <td colSpan={COLUMNS.length}>
            {last && (
              <p>
                <span class="muted">Last message:</span> {last}
              </p>
            )}
            {newest.length === 0 ? (
              <p class="muted">No event or run has failed with it.</p>
            ) : (
              <NewestFailures newest={newest} name={workflow === undefined ? 'event' : 'run'} now={now} query={query} />
            )}
          </td>
        </tr>
      )}
    </>
  );
}

/** Returns the last message of a group, in which nothing is masked, if its event type or workflow failed last with it. */
function lastMessage({ eventType, workflow, name, message }: ErrorGroup, { health }: HubStore): string | undefined {
  return health.value?.problems.find(
    (problem) =>
      problem.workflow === workflow &&
      problem.eventType === eventType &&
      problem.lastError?.name === name &&
      isMaskOf(message, problem.lastError.message),
  )?.lastError?.message;
}

/** Tells whether a message has the parts of a masked one, which may be cut. One without letters would be that of any. */
function isMaskOf(mask: string, message: string): boolean {
  let rest = `\0${message}\0`;
  // No pattern: it would try all ways to divide a list of numbers.
  const hasPart = (part: string): boolean => {
    const at = rest.indexOf(part);
    rest = rest.slice(at + part.length);
    return at >= 0;
  };
  return /\p{L}/u.test(mask) && `\0${mask}\0`.split(/#|"…"|…\0/).every(hasPart);
}

/** Tags of a group that rises, or that began in the latest release. */
export function GroupTags({ group, release, now }: Omit<ErrorRowsProps, 'store' | 'query'>): JSX.Element {
  const rise = riseOf(group, now);
  return (
    <>
      {rise !== null && (
        <>
          <span class="tag is-new">rising: {formatRate(rise)}</span>{' '}
        </>
      )}
      {isNew(group, release, now) && (
        <span class="tag is-new">{release === undefined ? 'new in 24 h' : `new since ${release.release}`}</span>
      )}
    </>
  );
}

export interface NewestFailuresProps {
  readonly newest: readonly GroupedFailure[];
  readonly name: IdLinkProps['name'];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly query: string;
}

/** Newest failures of a group. What all of them have in common stands once above them. */
export function NewestFailures({ newest, name, now, query }: NewestFailuresProps): JSX.Element {
  const placeOf = ({ step, release }: GroupedFailure): string =>
    [step === undefined ? '' : `step ${step}`, release === undefined ? '' : `release ${release}`]
      .filter(Boolean)
      .join(' · ');
  const places = new Set(newest.map(placeOf));
  const isShared = newest.length > 1 && places.size === 1;
  return (
    <>
      {isShared && <p class="muted">{[...places]}</p>}
      <ul class={`error-ids${isShared ? ' is-shared' : ''}`} aria-label="Newest failures">
        {newest.map((failure) => {
          const { id, at, attempt } = failure;
          return (
            <li key={`${id} ${at}`}>
              <IdLink id={id} name={name} query={query} />
              <Ago at={at} now={now} />
              <span class="muted">
                {[attempt > 1 && `attempt ${attempt}`, !isShared && placeOf(failure)].filter(Boolean).join(' · ')}
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}
