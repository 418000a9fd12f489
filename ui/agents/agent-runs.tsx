import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AgentRunIntrospection, StepIntrospection } from '../../server/dashboard/protocol.js';
import { formatDuration } from '../format/duration.js';
import { formatCost, formatCount, UNKNOWN } from '../format/number.js';
import { Count } from '../shared/counts.js';
import { Icon } from '../shared/icon.js';
import { RunLink } from '../shared/links.js';
import { StateLabel } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { LoadedContent } from '../shared/view-section.js';
import { BoundedRows, ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import { type TraceState, turnFacts } from '../views/trace-rows.js';

export interface AgentRunsProps {
  readonly agent: string;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

const RUN_COLUMNS = ['Run', 'Status', 'Turns', 'Tool calls', 'Tokens', 'Cost', 'Took', 'Started'] as const;

/** Number of runs that are shown first. */
const SHOWN_RUNS = 10;

/** Latest recorded runs of an agent, with their turns. */
export function AgentRuns({ agent, monitor, query }: AgentRunsProps): JSX.Element {
  const { value } = monitor.agentRuns;
  return (
    <section class="agent-runs" aria-labelledby="agent-runs-title">
      <h3 id="agent-runs-title" class="view-part">
        Recent runs of <bdi>{agent}</bdi> <span class="panel-period">the latest 20</span>
      </h3>
      <LoadedContent
        monitor={monitor}
        data={value?.key === agent ? value : null}
        isEmpty={({ runs }) => runs.length === 0}
        emptyTitle="No recorded runs"
        hint="Runs of agents in events, workflows and pipelines appear here."
      >
        {({ runs, now }) => (
          <ViewTable caption={`Recent runs of ${agent}, newest first`} columns={RUN_COLUMNS} class="agent-runs-table">
            <BoundedRows items={runs} limit={SHOWN_RUNS} noun="runs" columns={RUN_COLUMNS.length}>
              {(run) => (
                <RunRows
                  key={JSON.stringify([run.id, run.service, run.step])}
                  run={run}
                  now={Math.max(now, monitor.serverNow.value)}
                  query={query}
                />
              )}
            </BoundedRows>
          </ViewTable>
        )}
      </LoadedContent>
    </section>
  );
}

interface RunRowsProps {
  readonly run: AgentRunIntrospection;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly query: string;
}

function RunRows({ run, now, query }: RunRowsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { id, kind, type, step, status, turns, toolCalls, usage, error, startedAt, lastAt, steps } = run;
  const isOver = status === 'completed' || status === 'failed';
  return (
    <>
      <tr>
        <th scope="row">
          <RunLink id={id} kind={kind} type={type} query={query} />
          {step !== '' && <ViewTableNote>step {step}</ViewTableNote>}
          {error && (
            <ViewTableNote>
              <strong class="tone-failed">{error.name}</strong> {error.message}
            </ViewTableNote>
          )}
        </th>
        <ViewTableCell label="Status">
          <StateLabel state={status} />
        </ViewTableCell>
        <ViewTableCell label="Turns">
          {steps.length === 0 ? (
            <Count value={turns} />
          ) : (
            <button type="button" class="chip turns-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              <Icon name={isOpen ? 'open' : 'closed'} />
              {formatCount(turns)}
              <span class="visually-hidden">{isOpen ? ' turns, hide them' : ' turns, show them'}</span>
            </button>
          )}
        </ViewTableCell>
        <ViewTableCell label="Tool calls">
          <Count value={toolCalls} />
        </ViewTableCell>
        <ViewTableCell label="Tokens">
          <Count value={usage.totalTokens} />
        </ViewTableCell>
        <ViewTableCell label="Cost">{usage.cost === undefined ? UNKNOWN : formatCost(usage.cost)}</ViewTableCell>
        <ViewTableCell label="Took">{formatDuration((isOver ? lastAt : now) - startedAt)}</ViewTableCell>
        <ViewTableCell label="Started">
          <Ago at={startedAt} now={now} />
        </ViewTableCell>
      </tr>
      {isOpen && (
        <tr class="turns-row">
          <td colSpan={RUN_COLUMNS.length}>
            <ol class="turns" aria-label="Turns and tool calls">
              {steps.map((one) => (
                <Turn key={`${one.kind} ${one.name}`} step={one} />
              ))}
            </ol>
          </td>
        </tr>
      )}
    </>
  );
}

function Turn({ step }: { step: StepIntrospection }): JSX.Element {
  const { name, state, facts, isCall } = describeTurn(step);
  return (
    <li class={isCall ? 'turn is-call' : 'turn'}>
      <span class="turn-name">
        <bdi>{name}</bdi>
      </span>
      <StateLabel state={state} />
      <span class="turn-time">{formatDuration(step.durationMs ?? null)}</span>
      <span class="turn-facts">{facts.join(' · ')}</span>
    </li>
  );
}

/** Turn of an agent, or call of a tool in a turn, as the page shows it. */
export interface TurnView {
  readonly name: string;
  readonly state: TraceState;
  /** Call of a tool. */
  readonly isCall: boolean;
  readonly facts: readonly string[];
}

/** Describes a step of an agent's run. */
export function describeTurn(step: StepIntrospection): TurnView {
  const path = step.name.split(' / ');
  const isToolError = step.turn?.isToolError === true;
  const suspended = step.status === 'waiting' && step.waitsFor !== undefined;
  return {
    name: path.at(-1) ?? step.name,
    state: isToolError ? 'failed' : suspended ? 'suspended' : step.status,
    isCall: path.length > 1,
    facts: turnFacts(step),
  };
}
