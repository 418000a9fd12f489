import type { JSX } from 'preact';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { DecideActions } from '../actions/subject-actions.js';
import { viewerTimeZone } from '../format/clock-time.js';
import { formatAge } from '../format/duration.js';
import { approveCode } from '../format/hub-code.js';
import { formatCount } from '../format/number.js';
import { CopyCode } from '../shared/copy-button.js';
import { IdLink, RunLink, TypeLink } from '../shared/links.js';
import { groupBy } from '../shared/lists.js';
import { Name } from '../shared/name.js';
import { Ago, MomentAndAge } from '../shared/times.js';
import { LoadedView } from '../shared/view-section.js';
import { BoundedRows, type BoundedRowsProps, ViewTable, ViewTableCell } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';
import { WaitTarget } from '../workflows/run-list.js';
import { stepPath } from './trace-rows.js';

export interface WaitsProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

const WAIT_COLUMNS = ['Run', 'Since', 'Until'] as const;
const APPROVAL_COLUMNS = [...WAIT_COLUMNS, 'Decision'] as const;

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
      hint="Runs that wait for an approval, an event or a time appear here."
    >
      {({ waits, approvals, suspended, isTruncated, truncated, now: readAt }) => {
        const now = Math.max(monitor.serverNow.value, readAt);
        const asking = waits.filter(({ step }) => step.kind === 'approval');
        const others = waits.filter(({ step }) => step.kind !== 'approval');
        return (
          <>
            {isTruncated && <p class="muted">Not all waits of {formatCount(suspended)} suspended runs are listed.</p>}
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
                  {[...groupBy(asking, toolOf)].map(([tool, ofTool]) => (
                    <Group
                      key={tool}
                      name={<Name class="view-table-name">{tool}</Name>}
                      waits={ofTool}
                      isTruncated={asking.length < approvals}
                      hasOldest
                      limit={SHOWN_APPROVALS}
                      noun={`approvals of ${tool}`}
                      columns={APPROVAL_COLUMNS.length}
                      now={now}
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
                    </Group>
                  ))}
                </ViewTable>
              </>
            )}
            {others.length > 0 && (
              <>
                <h3 class="view-part">
                  Other waits <ListedCount count={others.length} isTruncated={isTruncated} />
                </h3>
                <ViewTable caption="Steps that wait" columns={WAIT_COLUMNS} class="waits-table">
                  <BoundedRows
                    items={[...groupBy(others, stepOf)]}
                    limit={SHOWN_STEPS}
                    noun="steps"
                    columns={WAIT_COLUMNS.length}
                  >
                    {([key, ofStep]) => {
                      const [{ kind, type, step }] = ofStep;
                      return (
                        <Group
                          key={key}
                          name={
                            <>
                              <TypeLink class="view-table-name" kind={kind} type={type} query={query} />{' '}
                              <bdi>{step.name}</bdi>
                            </>
                          }
                          waits={ofStep}
                          isTruncated={truncated.some((cut) => cut.kind === kind && cut.type === type)}
                          limit={SHOWN_WAITS}
                          noun="listed runs"
                          columns={WAIT_COLUMNS.length}
                          now={now}
                        >
                          {(wait) => <WaitRow key={keyOf(wait)} wait={wait} now={now} query={query} />}
                        </Group>
                      );
                    }}
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
  const { event } = step.waitsFor ?? {};
  const code = event && approveCode({ runId: wait.id, step: step.name, type: event.type }, transport);
  return (
    <WaitRow wait={wait} now={now} query={query}>
      <ViewTableCell label="Decision">
        <DecideActions
          wait={wait}
          tool={toolOf(wait)}
          otherwise={code === undefined ? null : <CopyCode code={code} />}
        />
      </ViewTableCell>
    </WaitRow>
  );
}

interface GroupProps extends Omit<BoundedRowsProps<WaitIntrospection>, 'items'>, Pick<RowProps, 'now'> {
  readonly name: JSX.Element;
  readonly waits: readonly WaitIntrospection[];
  readonly isTruncated: boolean;
  /** The oldest wait is listed, although others may be omitted. */
  readonly hasOldest?: boolean;
}

/** Waits of a tool or a step below a row with its name. */
function Group({ name, waits, isTruncated, hasOldest, now, columns, ...rows }: GroupProps): JSX.Element {
  const since = Math.min(...waits.map(({ step }) => step.waitsFor?.since ?? now));
  return (
    <>
      <tr class="row-group">
        <th scope="rowgroup" colSpan={columns}>
          {name} <ListedCount count={waits.length} isTruncated={isTruncated} />{' '}
          {(hasOldest || !isTruncated) && waits.length > 1 && (
            <span class="muted">· the oldest waits for {formatAge(now - since)}</span>
          )}
        </th>
      </tr>
      <BoundedRows items={waits} columns={columns} {...rows} />
    </>
  );
}

/** Number of listed waits. There may be more if the list is cut. */
function ListedCount({ count, isTruncated }: { count: number; isTruncated: boolean }): JSX.Element {
  return (
    <span class="chip-count">
      {formatCount(count)}
      {isTruncated && ' or more'}
    </span>
  );
}

/** Wait in columns; on a phone, a sentence. */
function WaitRow({ wait, now, query, children }: RowProps & { children?: JSX.Element }): JSX.Element {
  const { id, kind, type, service, step } = wait;
  const isApproval = step.kind === 'approval';
  const { since = now, dueAt } = step.waitsFor ?? {};
  return (
    <tr>
      <th scope="row">
        {isApproval ? (
          <>
            <RunLink id={id} kind={kind} type={type} query={query} /> <bdi class="muted">{step.name}</bdi>
          </>
        ) : (
          <>
            <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />{' '}
            <bdi class="muted">
              {service} · <WaitTarget step={step} query={query} />
            </bdi>
          </>
        )}
      </th>
      <ViewTableCell label="Since">
        <Ago at={since} now={now} />
      </ViewTableCell>
      <ViewTableCell label="Until">
        {dueAt === undefined ? 'without limit' : <MomentAndAge at={dueAt} now={now} />}
      </ViewTableCell>
      {children}
    </tr>
  );
}

function keyOf({ id, service, step }: WaitIntrospection): string {
  return JSON.stringify([id, service, step.kind, step.name]);
}

/** Returns the step of a type or workflow that waits. */
export function stepOf({ kind, type, step }: WaitIntrospection): string {
  return JSON.stringify([kind, type, step.name]);
}

/** Returns the name of the tool whose call waits for an approval. */
export function toolOf({ step }: WaitIntrospection): string {
  return (stepPath(step.name).at(-1) ?? step.name).replace(/#\d+$/, '').trim();
}
