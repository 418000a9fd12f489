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
                {formatCount(new Set(waits.map(({ id, service }) => id + service)).size)} of {formatCount(suspended)}{' '}
                suspended runs are listed.
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
                const [{ kind, type, service, step }] = ofStep;
                return (
                  <Group
                    key={key}
                    name={
                      <>
                        <TypeLink class="view-table-name" kind={kind} type={type} query={query} />{' '}
                        <bdi>{step.name}</bdi>
                      </>
                    }
                    about={
                      <span class="muted">
                        {' · '}
                        <bdi>{service}</bdi>
                        {step.kind !== 'sleep' && !step.waitsFor?.runId && (
                          <>
                            {' · '}
                            <WaitTarget step={step} query={query} />
                          </>
                        )}
                      </span>
                    }
                    waits={ofStep}
                    isTruncated={truncated.some((cut) => cut.kind === kind && cut.type === type)}
                    limit={SHOWN_WAITS}
                    noun="listed runs"
                    columns={WAIT_COLUMNS.length}
                    now={now}
                  >
                    {(wait) => (
                      <WaitRow
                        key={keyOf(wait)}
                        wait={wait}
                        now={now}
                        name={
                          <>
                            <IdLink id={wait.id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
                            {wait.step.waitsFor?.runId && (
                              <span class="muted">
                                {' '}
                                <WaitTarget step={wait.step} query={query} />
                              </span>
                            )}
                          </>
                        }
                      />
                    )}
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
  const run = <RunLink id={id} kind={kind} type={type} query={query} />;
  const agent = agentOf(wait, store);
  const agentLink = agent !== undefined && (
    <a href={viewPath('agents', agent) + query}>
      <Name>{agent}</Name>
    </a>
  );
  const name = (
    <>
      {run}{' '}
      <span class="muted">
        <bdi>{step.name}</bdi> {agentLink && <>· agent {agentLink}</>}
      </span>
    </>
  );
  return (
    <WaitRow wait={wait} now={now} name={name}>
      <ViewTableCell label="Decision">
        <DecideButton
          wait={wait}
          tool={toolOf(wait)}
          facts={
            <>
              {agentLink && <Fact label="Agent">{agentLink}</Fact>}
              <Fact label={kind === 'workflow' ? 'Run' : 'Event'}>{run}</Fact>
              <Fact label="Since">
                <Ago at={since} now={now} />
                {dueAt === undefined
                  ? ', without limit'
                  : `, until ${formatMoment(dueAt, now)} (in ${formatAhead(dueAt - now)}), then it counts as refused`}
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
  /** Facts that all of them have in common. */
  readonly about?: JSX.Element;
  readonly waits: readonly WaitIntrospection[];
  readonly isTruncated: boolean;
  /** The oldest wait is listed, although others may be omitted. */
  readonly hasOldest?: boolean;
}

/** Waits of a tool or a step below a row with its name. */
function Group({ name, about, waits, isTruncated, hasOldest, now, columns, ...rows }: GroupProps): JSX.Element {
  const since = Math.min(...waits.map(({ step }) => step.waitsFor?.since ?? now));
  return (
    <>
      <tr class="row-group">
        <th scope="rowgroup" colSpan={columns}>
          {name} <span class="panel-period">{listedText(waits.length, isTruncated)}</span>
          {(hasOldest || !isTruncated) && waits.length > 1 && (
            <span class="muted"> · the oldest waits for {formatAge(now - since)}</span>
          )}
          {about}
        </th>
      </tr>
      <BoundedRows items={waits} columns={columns} {...rows} />
    </>
  );
}

/** Returns the number of waits: of those that are listed, if there may be more. */
function listedText(count: number, isTruncated: boolean): string {
  return formatCount(count) + (isTruncated ? ' listed' : '');
}

interface WaitRowProps extends Pick<RowProps, 'wait' | 'now'> {
  /** Name and facts of the waiting run. */
  readonly name: JSX.Element;
  readonly children?: JSX.Element;
}

/** Wait in columns; on a phone, a sentence. */
function WaitRow({ wait, now, name, children }: WaitRowProps): JSX.Element {
  const { since = now, dueAt } = wait.step.waitsFor ?? {};
  return (
    <tr>
      <th scope="row">{name}</th>
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

/** Returns the step of a type or workflow that waits, the service that runs it, and what it waits for unless it is a run. */
export function stepOf({ kind, type, service, step }: WaitIntrospection): string {
  const { runId, event } = step.waitsFor ?? {};
  return JSON.stringify([kind, type, service, step.name, step.kind, runId ? '' : event?.type]);
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
