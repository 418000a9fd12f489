import type { JSX } from 'preact';
import type { Problem } from '../../server/dashboard/protocol.js';
import { PauseButton } from '../actions/subject-actions.js';
import type { Schedule } from '../api/decode-introspection.js';
import type { Outlook as DueTimes, Outcome as LastOutcome } from '../api/decode-views.js';
import { formatTick, formatTime } from '../format/clock-time.js';
import { formatAgo, formatAhead, formatDuration, HOUR } from '../format/duration.js';
import { formatCount, UNKNOWN } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { IdLink, TypeLink } from '../shared/links.js';
import { Name } from '../shared/name.js';
import { StateLabel } from '../shared/states.js';
import { Moment, MomentAndAge } from '../shared/times.js';
import { useShown } from '../shared/use-element.js';
import { ViewSection } from '../shared/view-section.js';
import { useBounded, useSorted, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { describeProblem, problemKey } from '../state/problems.js';

export interface SchedulesProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const COLUMNS = ['Schedule', 'Starts', 'Repeats', 'Last', 'Outcome', 'Next', 'Processes'] as const;

/** View of the schedules of all services. */
export function Schedules({ monitor, navigation }: SchedulesProps): JSX.Element {
  const { store } = monitor;
  const outlooks = new Map(monitor.outlooks.value?.body?.schedules.map((each) => [keyOf(each), each]));
  const schedules = store.schedules.value.map((schedule): ShownSchedule => {
    const { emit, start } = schedule;
    const problems = (store.health.value?.problems ?? []).filter(({ eventType, workflow }) =>
      emit === undefined ? workflow === start : eventType === emit,
    );
    return { ...schedule, outlook: outlooks.get(keyOf(schedule)), problems };
  });
  const hidden = store.storedSchedules.value - schedules.filter(({ storedId }) => storedId !== undefined).length;
  const open = navigation.route.value.name;
  const now = monitor.serverNow.value;
  const [sorted, order] = useSorted(schedules, keyOf, 'Outcome', {
    Schedule: ({ name }) => name,
    // Those with a problem first.
    Outcome: (schedule) => Number(hasFailed(schedule) || schedule.processes === 0 || schedule.problems.length > 0),
  });
  return (
    <ViewSection
      view="schedules"
      store={store}
      hasTimes
      isEmpty={schedules.length === 0}
      unknown={schedules.some(({ name }) => name === open) ? null : open}
      hint={
        <>
          Register one with <code>hub.schedule</code> or set one with <code>hub.schedules.set</code>, and it appears
          here.
        </>
      }
    >
      <Outlook schedules={schedules} now={now} />
      <ViewTable caption="Schedules" columns={COLUMNS} class="schedules-table" order={order}>
        {sorted.map((schedule) => (
          <ScheduleRow
            key={keyOf(schedule)}
            schedule={schedule}
            isOpen={schedule.name === open}
            now={now}
            query={navigation.query.value}
          />
        ))}
      </ViewTable>
      {hidden > 0 && (
        <p class="muted">
          {formatCount(hidden)} more were set at run time: <code>hub.schedules.list</code> has all.
        </p>
      )}
    </ViewSection>
  );
}

function keyOf({ service, name, storedId }: Pick<Schedule, 'service' | 'name' | 'storedId'>): string {
  return JSON.stringify([service, name, storedId]);
}

interface ShownSchedule extends Schedule {
  /** Absent before it is loaded, and in a snapshot. */
  readonly outlook: DueTimes | undefined;
  /** Problems of what the schedule starts. */
  readonly problems: readonly Problem[];
}

/** Returns true if the last event or run of a schedule failed. */
function hasFailed({ outlook }: ShownSchedule): boolean {
  return outlook?.last?.status === 'failed';
}

const OUTLOOK_HOURS = 12;
/** Number of schedules in the line of time before the user asks for all: those that are due first. */
const SHOWN_LANES = 12;

interface OutlookProps {
  readonly schedules: readonly ShownSchedule[];
  readonly now: number;
}

/** Line of the next 12 hours, with a mark at each due time. */
function Outlook({ schedules, now }: OutlookProps): JSX.Element {
  const end = now + OUTLOOK_HOURS * HOUR;
  const due = schedules
    .flatMap((schedule) => {
      const { dueAt = [], isDense = false } = schedule.outlook ?? {};
      const ahead = dueAt.filter((at) => at >= now && at <= end);
      const [first] = ahead;
      return first === undefined ? [] : { schedule, ahead, first, isDense };
    })
    .sort((a, b) => a.first - b.first);
  const [shown, button] = useBounded(due, SHOWN_LANES, 'schedules');
  const placeOf = (at: number): string => `${((at - now) / (end - now)) * 100}%`;
  const firstHour = Math.ceil(now / HOUR) * HOUR;
  // The label of a last one would stand over the edge.
  const hours = Array.from({ length: OUTLOOK_HOURS - 1 }, (_, index) => firstHour + index * HOUR);
  return (
    <section class="card outlook" aria-labelledby="outlook-title">
      <h3 id="outlook-title">
        Next 12 h{' '}
        <span class="panel-period">
          {due.length === 0
            ? 'nothing is due'
            : `${formatCount(due.length)} of ${formatCount(schedules.length)} schedules`}
        </span>
      </h3>
      {due.length > 0 && (
        <ul>
          {shown.map(({ schedule, ahead, first, isDense }) => (
            <li key={keyOf(schedule)}>
              <span class="outlook-name" title={schedule.name}>
                {hasFailed(schedule) && <StateLabel state="failed" />} <bdi>{schedule.name}</bdi>
                <span class="visually-hidden">
                  {' '}
                  {isDense ? `more than ${ahead.length}` : ahead.length} times, next in {formatAhead(first - now)}
                </span>
              </span>
              <span class="outlook-lane" aria-hidden>
                {isDense ? (
                  <span class="outlook-dense" style={{ left: placeOf(first) }}>
                    {whenText(schedule)}
                  </span>
                ) : (
                  ahead.map((at) => (
                    <i key={at} class="outlook-due" style={{ left: placeOf(at) }} title={formatTime(at)} />
                  ))
                )}
              </span>
            </li>
          ))}
          <li class="outlook-axis" aria-hidden>
            <span class="outlook-name" />
            <span class="outlook-lane">
              {hours.map((at) => (
                <span key={at} style={{ left: placeOf(at) }}>
                  {formatTick(at)}
                </span>
              ))}
            </span>
          </li>
        </ul>
      )}
      {button}
    </section>
  );
}

function whenText({ cron, timeZone = 'UTC', everyMs, outlook }: ShownSchedule): string {
  return outlook?.words ?? (everyMs === undefined ? `${cron}, ${timeZone}` : `every ${formatDuration(everyMs)}`);
}

interface ScheduleRowProps {
  readonly schedule: ShownSchedule;
  readonly isOpen: boolean;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

function ScheduleRow({ schedule, isOpen, now, query }: ScheduleRowProps): JSX.Element {
  const {
    name,
    description,
    service,
    emit,
    start,
    processes,
    storedId,
    lastDueAt,
    nextDueAt,
    laterDueAt = [],
    paused,
    outlook,
    problems,
  } = schedule;
  const row = useShown<HTMLTableRowElement>(isOpen);
  const last = outlook?.last;
  return (
    <tr ref={row} data-open={isOpen}>
      <th scope="row">
        <Name class="view-table-name">{name}</Name>
        <PauseButton target={{ kind: 'schedule', name }} paused={paused} />
        {description && <ViewTableNote>{description}</ViewTableNote>}
        <ViewTableNote>{service}</ViewTableNote>
        {storedId !== undefined && <ViewTableNote>set at run time</ViewTableNote>}
      </th>
      <ViewTableCell label="Starts">
        {emit === undefined && 'workflow '}
        <TypeLink kind={emit === undefined ? 'workflow' : 'event'} type={emit ?? start ?? ''} query={query} />
        {problems.map((problem) => {
          const { icon, tone, fact } = describeProblem(problem, now);
          return (
            <ViewTableNote key={problemKey(problem)}>
              <span class={`tone-${tone}`}>
                <Icon name={icon} /> {fact}
                {last?.status === 'completed' && problem.kind === 'oldest-pending' && (
                  <ViewTableNote>another event of the type</ViewTableNote>
                )}
              </span>
            </ViewTableNote>
          );
        })}
      </ViewTableCell>
      <ViewTableCell label="Repeats">
        {whenText(schedule)}
        {schedule.cron !== undefined && outlook?.words !== undefined && (
          <ViewTableNote>
            <code>{schedule.cron}</code>
          </ViewTableNote>
        )}
      </ViewTableCell>
      <ViewTableCell label="Last">
        {lastDueAt === undefined ? 'never' : <MomentAndAge at={lastDueAt} now={now} />}
      </ViewTableCell>
      <ViewTableCell label="Outcome" isFailed={hasFailed(schedule)}>
        {last === undefined ? UNKNOWN : <Outcome last={last} query={query} />}
      </ViewTableCell>
      <ViewTableCell label="Next">
        {paused !== undefined ? (
          `paused by ${paused.by} ${formatAgo(now - paused.since)}`
        ) : nextDueAt === undefined ? (
          'none'
        ) : (
          <>
            <MomentAndAge at={Math.max(nextDueAt, now)} now={now} />
            {schedule.cron !== undefined &&
              outlook?.words === undefined &&
              laterDueAt.map((at) => (
                <ViewTableNote key={at}>
                  <Moment at={at} />
                </ViewTableNote>
              ))}
          </>
        )}
      </ViewTableCell>
      <ViewTableCell label="Processes" isFailed={processes === 0}>
        {processes === 0 ? (
          <>
            <Icon name="triangle" /> none: overdue
          </>
        ) : (
          formatCount(processes)
        )}
      </ViewTableCell>
    </tr>
  );
}

/** Status of the event or the run of a due time, with its duration or error. */
function Outcome({ last, query }: { last: LastOutcome; query: string }): JSX.Element {
  const { id, kind, status, runMs, error } = last;
  return (
    <>
      <StateLabel state={status} />
      <ViewTableNote>
        <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
        {runMs !== undefined && ` ${formatDuration(runMs)}`}
      </ViewTableNote>
      {error !== undefined && <ViewTableNote>{error.message || error.name}</ViewTableNote>}
    </>
  );
}
