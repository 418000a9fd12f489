import type { JSX } from 'preact';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { viewerTimeZone } from '../format/clock-time.js';
import { formatCount } from '../format/count.js';
import { formatAge, formatAgo } from '../format/duration.js';
import type { Monitor } from '../polling/monitor.js';
import type { Navigation } from '../routing/navigation.js';
import { CodeToCopy } from '../shared/code-to-copy.js';
import { approveCode } from '../shared/hub-code.js';
import { IdLink } from '../shared/links/id-link.js';
import { TypeLink } from '../shared/links/run-link.js';
import { Moment } from '../shared/moment.js';
import { BoundedRows } from '../shared/views/bounded-rows.js';
import { LoadedView } from '../shared/views/loaded-view.js';
import { ViewTable, ViewTableCell, ViewTableNote } from '../shared/views/view-table.js';
import { groupWaits, type WaitGroup } from './group-waits.js';
import { toolOf, waitText } from './wait-text.js';

export interface WaitsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const APPROVAL_COLUMNS = ['Run', 'Tool', 'Since', 'Timeout', 'Approve'] as const;
const WAIT_COLUMNS = ['Run', 'Waits for', 'Since', 'Until'] as const;

/** Numbers of rows that are shown first: the lists may have hundreds. */
const SHOWN_APPROVALS = 5;
const SHOWN_STEPS = 10;
const SHOWN_WAITS = 3;

/** View of what runs wait for: approvals first. */
export function Waits({ monitor, navigation }: WaitsProps): JSX.Element {
  const query = navigation.query.value;
  return (
    <LoadedView
      view="waits"
      monitor={monitor}
      data={monitor.waits.value}
      aside={<span class="panel-period">times in {viewerTimeZone()}</span>}
      isEmpty={({ waits }) => waits.length === 0}
      emptyTitle="Nothing waits"
      hint="Runs that wait for an approval, an event, a time, another run or a retry appear here."
    >
      {({ waits, approvals, suspended, isTruncated, now: readAt }) => {
        const now = Math.max(monitor.serverNow.value, readAt);
        const asking = waits.filter(({ step }) => step.kind === 'approval');
        const others = waits.filter(({ step }) => step.kind !== 'approval');
        return (
          <>
            {isTruncated && (
              <p class="panel-note">
                The list has the oldest approvals and some of the other waits. In total {formatCount(approvals)}{' '}
                approvals wait, and {formatCount(suspended)} runs are suspended.
              </p>
            )}
            {asking.length > 0 && (
              <>
                <h3 class="view-part">
                  Approvals <span class="chip-count">{formatCount(approvals)}</span>
                </h3>
                <ViewTable
                  caption="Calls of tools that wait for an approval"
                  columns={APPROVAL_COLUMNS}
                  class="waits-table"
                >
                  <BoundedRows
                    items={asking}
                    limit={SHOWN_APPROVALS}
                    noun="approvals"
                    columns={APPROVAL_COLUMNS.length}
                  >
                    {(wait) => (
                      <ApprovalRow
                        key={keyOf(wait)}
                        wait={wait}
                        now={now}
                        query={query}
                        transport={monitor.store.hub.value?.transport}
                      />
                    )}
                  </BoundedRows>
                </ViewTable>
              </>
            )}
            {others.length > 0 && (
              <>
                <h3 class="view-part">Other waits</h3>
                <ViewTable caption="Steps that wait" columns={WAIT_COLUMNS} class="waits-table">
                  <BoundedRows
                    items={groupWaits(others)}
                    limit={SHOWN_STEPS}
                    noun="steps"
                    columns={WAIT_COLUMNS.length}
                  >
                    {(group) => <GroupRows key={keyOfGroup(group)} group={group} now={now} query={query} />}
                  </BoundedRows>
                </ViewTable>
              </>
            )}
          </>
        );
      }}
    </LoadedView>
  );
}

interface RowProps {
  readonly wait: WaitIntrospection;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

function ApprovalRow({ wait, now, query, transport }: RowProps & { transport: string | undefined }): JSX.Element {
  const { step } = wait;
  const { event, dueAt } = step.waitsFor ?? {};
  const code =
    event?.key === undefined
      ? undefined
      : approveCode({ runId: wait.id, step: step.name, type: event.type, approvalId: event.key }, transport);
  return (
    <tr>
      <th scope="row">
        <TypeLink kind={wait.kind} type={wait.type} query={query} />
        <RunId wait={wait} query={query} />
      </th>
      <ViewTableCell label="Tool">
        <strong>{toolOf(wait)}</strong>
        <ViewTableNote>{step.name}</ViewTableNote>
      </ViewTableCell>
      <SinceCell wait={wait} now={now} />
      <ViewTableCell label="Timeout">{dueAt === undefined ? 'none' : <Due at={dueAt} now={now} />}</ViewTableCell>
      <ViewTableCell label="Approve">{code !== undefined && <CodeToCopy code={code} />}</ViewTableCell>
    </tr>
  );
}

/** Waits of a step below a row with its name. */
function GroupRows({ group, now, query }: Omit<RowProps, 'wait'> & { group: WaitGroup }): JSX.Element {
  const { kind, type, step, waits } = group;
  return (
    <>
      <tr class="wait-group">
        <th scope="rowgroup" colSpan={WAIT_COLUMNS.length}>
          <TypeLink kind={kind} type={type} query={query} /> <bdi>{step}</bdi>{' '}
          <span class="chip-count">{formatCount(waits.length)}</span>
        </th>
      </tr>
      <BoundedRows items={waits} limit={SHOWN_WAITS} noun="runs" columns={WAIT_COLUMNS.length}>
        {(wait) => <WaitRow key={keyOf(wait)} wait={wait} now={now} query={query} />}
      </BoundedRows>
    </>
  );
}

function WaitRow({ wait, now, query }: RowProps): JSX.Element {
  const { dueAt } = wait.step.waitsFor ?? {};
  return (
    <tr>
      <th scope="row">
        <RunId wait={wait} query={query} />
      </th>
      <ViewTableCell label="Waits for">{waitText(wait)}</ViewTableCell>
      <SinceCell wait={wait} now={now} />
      <ViewTableCell label="Until">{dueAt === undefined ? 'no limit' : <Due at={dueAt} now={now} />}</ViewTableCell>
    </tr>
  );
}

function RunId({ wait: { id, kind, service }, query }: Pick<RowProps, 'wait' | 'query'>): JSX.Element {
  return (
    <ViewTableNote>
      <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} /> <bdi>{service}</bdi>
    </ViewTableNote>
  );
}

function SinceCell({ wait: { step }, now }: Pick<RowProps, 'wait' | 'now'>): JSX.Element {
  const since = step.waitsFor?.since ?? now;
  return (
    <ViewTableCell label="Since">
      <Moment at={since} />
      <ViewTableNote>{formatAgo(now - since)}</ViewTableNote>
    </ViewTableCell>
  );
}

function Due({ at, now }: { at: number; now: number }): JSX.Element {
  return (
    <>
      <Moment at={at} />
      <ViewTableNote>{at > now ? `in ${formatAge(at - now)}` : 'now'}</ViewTableNote>
    </>
  );
}

function keyOf({ id, service, step }: WaitIntrospection): string {
  return JSON.stringify([id, service, step.kind, step.name]);
}

function keyOfGroup({ kind, type, step }: WaitGroup): string {
  return JSON.stringify([kind, type, step]);
}
