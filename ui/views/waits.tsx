import type { JSX } from 'preact';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { DecideButton } from '../actions/subject-actions.js';
import { formatMoment } from '../format/clock-time.js';
import { formatAge, formatAhead } from '../format/duration.js';
import { approveCode } from '../format/hub-code.js';
import { formatCount } from '../format/number.js';
import { CopyCode } from '../shared/copy-button.js';
import { Fact } from '../shared/fact.js';
import { IdLink, RunLink, TypeLink } from '../shared/links.js';
import { groupBy } from '../shared/lists.js';
import { Name } from '../shared/name.js';
import { Ago, MomentAndAge } from '../shared/times.js';
import { LoadedView } from '../shared/view-section.js';
import { BoundedRows, type BoundedRowsProps, TablePart, ViewTableCell } from '../shared/view-table.js';
import type { HubStore } from '../state/hub-store.js';
import type { Monitor } from '../state/monitor.js';
import { type Navigation, viewPath } from '../state/navigation.js';
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
      hasTimes
      isEmpty={({ waits }) => waits.length === 0}
      emptyTitle="Nothing waits"
      hint="Runs that wait for an approval, an event or a time appear here."
    >
      {({ waits, approvals, suspended, isTruncated, truncated, now }) => {
        const asking = waits.filter(({ step }) => step.kind === 'approval');
        const others = waits.filter(({ step }) => step.kind !== 'approval');
        return (
          <>
            {isTruncated && (
              <p class="muted">
                Waits of {formatCount(new Set(waits.map(runOf)).size)} of {formatCount(suspended)} suspended runs are
                listed.
              </p>
            )}
            <TablePart
              title="Approvals"
              note={formatCount(approvals)}
              columns={APPROVAL_COLUMNS}
              class="waits-table"
              items={[...groupBy(asking, toolOf)]}
              limit={SHOWN_STEPS}
              noun="tools"
            >
              {([tool, ofTool]) => (
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
                    <ApprovalRow key={keyOf(wait)} wait={wait} now={now} query={query} store={monitor.store} />
                  )}
                </Group>
              )}
            </TablePart>
            <TablePart
              title="Other waits"
              note={listedText(others.length, isTruncated)}
              columns={WAIT_COLUMNS}
              class="waits-table"
              items={[...groupBy(others, stepOf)]}
              limit={SHOWN_STEPS}
              noun="steps"
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
            </TablePart>
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

function ApprovalRow({ wait, now, query, store }: RowProps & { readonly store: HubStore }): JSX.Element {
  const { id, kind, type, step } = wait;
  const { event, since = now, dueAt } = step.waitsFor ?? {};
  const code = event && approveCode({ runId: id, step: step.name, type: event.type }, store.hub.value?.transport);
  const agent = agentOf(wait, store);
  return (
    <WaitRow wait={wait} now={now} query={query}>
      <ViewTableCell label="Decision">
        <DecideButton
          wait={wait}
          tool={toolOf(wait)}
          facts={
            <>
              {agent !== undefined && (
                <Fact label="Agent">
                  <a href={viewPath('agents', agent) + query}>
                    <Name>{agent}</Name>
                  </a>
                </Fact>
              )}
              <Fact label={kind === 'workflow' ? 'Run' : 'Event'}>
                <RunLink id={id} kind={kind} type={type} query={query} />
              </Fact>
              <Fact label="Since">
                <Ago at={since} now={now} />
              </Fact>
              <Fact label="Until">
                {dueAt === undefined
                  ? 'without limit'
                  : `${formatMoment(dueAt, now)} (in ${formatAhead(dueAt - now)}), then it counts as refused`}
              </Fact>
            </>
          }
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
          {name} <span class="panel-period">{listedText(waits.length, isTruncated)}</span>{' '}
          {(hasOldest || !isTruncated) && waits.length > 1 && (
            <span class="muted">· the oldest waits for {formatAge(now - since)}</span>
          )}
        </th>
      </tr>
      <BoundedRows items={waits} columns={columns} {...rows} />
    </>
  );
}

/** Returns the number of waits. If the list is cut, there may be more. */
function listedText(count: number, isTruncated: boolean): string {
  return (isTruncated ? 'at least ' : '') + formatCount(count);
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
              {service}
              {step.kind !== 'sleep' && (
                <>
                  {' '}
                  · <WaitTarget step={step} query={query} />
                </>
              )}
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

/** Returns the run that waits. Services run an event of their own each. */
function runOf({ id, service }: WaitIntrospection): string {
  return id + service;
}

/** Returns the step of a type or workflow that waits. */
export function stepOf({ kind, type, step }: WaitIntrospection): string {
  return JSON.stringify([kind, type, step.name]);
}

/** Returns the agent of a call that waits; `undefined` if code runs it. */
function agentOf({ kind, type, step }: WaitIntrospection, { rows, workflows }: HubStore): string | undefined {
  if (kind === 'event') return rows.value.get(type)?.details?.agent?.name;
  const [first] = stepPath(step.name);
  return workflows.value.find(({ name }) => name === type)?.steps.find(({ name }) => name === first)?.agent;
}

/** Returns the name of the tool whose call waits for an approval. */
export function toolOf({ step }: WaitIntrospection): string {
  return (stepPath(step.name).at(-1) ?? step.name).replace(/#\d+$/, '').trim();
}
