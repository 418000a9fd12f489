import type { JSX } from 'preact';
import type { AgentRun } from '../api/decode-views.js';
import { formatDuration } from '../format/duration.js';
import { formatCost, formatCount, UNKNOWN } from '../format/number.js';
import { Count } from '../shared/counts.js';
import { RunLink } from '../shared/links.js';
import { StateLabel } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { LoadedContent } from '../shared/view-section.js';
import { ViewTable, ViewTableCell, ViewTableNote } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';

export interface AgentRunsProps {
  readonly agent: string;
  readonly monitor: Monitor;
  /** Query that links retain. */
  readonly query: string;
}

const RUN_COLUMNS = ['Run', 'Status', 'Turns', 'Tool calls', 'Tokens', 'Cost', 'Took', 'Started'] as const;

/** Latest recorded runs of an agent. The request of each shows its turns. */
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
        {({ runs, now }) => {
          const tokens = runs.filter(isOver).map(({ usage }) => usage.totalTokens);
          const median = tokens.sort((a, b) => a - b)[(tokens.length - 1) >> 1] || Number.POSITIVE_INFINITY;
          return (
            <ViewTable caption={`Recent runs of ${agent}, newest first`} columns={RUN_COLUMNS} class="agent-runs-table">
              {runs.map((run) => (
                <RunRow
                  key={JSON.stringify([run.id, run.service, run.step])}
                  run={run}
                  median={median}
                  now={now}
                  query={query}
                />
              ))}
            </ViewTable>
          );
        }}
      </LoadedContent>
    </section>
  );
}

interface RunRowProps {
  readonly run: AgentRun;
  /** Tokens of the run in the middle of those that ended; infinite if it has none. */
  readonly median: number;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly query: string;
}

/** Multiple of the median above which the tokens of a run are named. */
const OUTLIER = 5;

function isOver({ status }: AgentRun): boolean {
  return status === 'completed' || status === 'failed';
}

function RunRow({ run, median, now, query }: RunRowProps): JSX.Element {
  const { id, kind, type, step, status, turns, toolCalls, usage, error, startedAt, lastAt } = run;
  const ratio = usage.totalTokens / median;
  const hasEnded = isOver(run);
  return (
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
        <Count value={turns} />
      </ViewTableCell>
      <ViewTableCell label="Tool calls">
        <Count value={toolCalls} />
      </ViewTableCell>
      <ViewTableCell label="Tokens">
        <Count value={usage.totalTokens} />
        {ratio > OUTLIER && (
          <ViewTableNote>
            <span class="tone-stale">{formatCount(Math.round(ratio))} × the median</span>
          </ViewTableNote>
        )}
      </ViewTableCell>
      <ViewTableCell label="Cost">{usage.cost === undefined ? UNKNOWN : formatCost(usage.cost)}</ViewTableCell>
      <ViewTableCell label="Took">
        {!hasEnded && <span class="muted">so far </span>}
        {formatDuration((hasEnded ? lastAt : now) - startedAt)}
      </ViewTableCell>
      <ViewTableCell label="Started">
        <Ago at={startedAt} now={now} />
      </ViewTableCell>
    </tr>
  );
}
