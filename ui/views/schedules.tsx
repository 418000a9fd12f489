import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Schedule } from '../api/decode-introspection.js';
import { viewerTimeZone } from '../format/clock-time.js';
import { formatAge, formatAgo } from '../format/duration.js';
import { formatCount } from '../format/number.js';
import { Icon } from '../shared/icon.js';
import { EventLink } from '../shared/links.js';
import { ViewSection } from '../shared/view-section.js';
import { Moment, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import { compareNames } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
import { hasRareTimes, scheduleText } from './schedule-text.js';

export interface SchedulesProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const COLUMNS = ['Schedule', 'Starts', 'Due', 'Last', 'Next', 'Processes'] as const;

/** View of the schedules of all services. */
export function Schedules({ monitor, navigation }: SchedulesProps): JSX.Element {
  const { store } = monitor;
  const schedules = [...store.schedules.value].sort(
    (a, b) => compareNames(a.service, b.service) || compareNames(a.name, b.name),
  );
  const open = navigation.route.value.name;
  return (
    <ViewSection
      view="schedules"
      store={store}
      aside={<span class="panel-period">times in {viewerTimeZone()}</span>}
      isEmpty={schedules.length === 0}
      unknown={schedules.some(({ name }) => name === open) ? null : open}
      hint={
        <>
          Register one with <code>hub.schedule</code>, and it appears here.
        </>
      }
    >
      <ViewTable caption="Schedules, with their last and next due times" columns={COLUMNS} class="schedules-table">
        {schedules.map((schedule) => (
          <ScheduleRow
            key={JSON.stringify([schedule.service, schedule.name])}
            schedule={schedule}
            isOpen={schedule.name === open}
            now={monitor.serverNow.value}
            query={navigation.query.value}
          />
        ))}
      </ViewTable>
    </ViewSection>
  );
}

interface ScheduleRowProps {
  readonly schedule: Schedule;
  readonly isOpen: boolean;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

function ScheduleRow({ schedule, isOpen, now, query }: ScheduleRowProps): JSX.Element {
  const { name, description, service, emit, start, processes, lastDueAt, nextDueAt, laterDueAt = [] } = schedule;
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isOpen]);
  return (
    <tr ref={row} data-open={isOpen}>
      <th scope="row">
        <bdi class="view-table-name">{name}</bdi>
        {description && <ViewTableNote>{description}</ViewTableNote>}
        <ViewTableNote>{service}</ViewTableNote>
      </th>
      <ViewTableCell label="Starts">
        {emit !== undefined && <EventLink type={emit} query={query} />}
        {start !== undefined && (
          <>
            workflow{' '}
            <a href={viewPath('workflows', start) + query}>
              <bdi>{start}</bdi>
            </a>
          </>
        )}
      </ViewTableCell>
      <ViewTableCell label="Due">
        {scheduleText(schedule)}
        {schedule.cron !== undefined && !hasRareTimes(schedule) && (
          <ViewTableNote>
            <code>{schedule.cron}</code>
          </ViewTableNote>
        )}
      </ViewTableCell>
      <ViewTableCell label="Last">
        {lastDueAt === undefined ? (
          'never'
        ) : (
          <>
            <Moment at={lastDueAt} />
            <ViewTableNote>{formatAgo(now - lastDueAt)}</ViewTableNote>
          </>
        )}
      </ViewTableCell>
      <ViewTableCell label="Next">
        {nextDueAt === undefined ? (
          'none'
        ) : (
          <>
            <Moment at={nextDueAt} />
            <ViewTableNote>in {formatAge(nextDueAt - now)}</ViewTableNote>
            {hasRareTimes(schedule) &&
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
