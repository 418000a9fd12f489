import type { JSX } from 'preact';
import type { RunIntrospection } from '../../server/dashboard/protocol.js';
import { formatDateTime } from '../format/clock-time.js';
import { formatAgo, formatDuration } from '../format/duration.js';
import { RunState } from './run-state.js';

export interface RunListProps {
  /** Newest first. */
  readonly runs: readonly RunIntrospection[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly serverNow: number;
}

/** Runs of a workflow, each with the status of its steps. */
export function RunList({ runs, serverNow }: RunListProps): JSX.Element {
  return (
    <ol class="runs" aria-label="Recent runs">
      {runs.map((run) => (
        <li key={run.id} class="run">
          <p class="run-head">
            <RunState status={run.status} />
            <span class="run-id" title={`Run ${run.id}, request ${run.requestId}`}>
              {run.id}
            </span>
            <time dateTime={new Date(run.acceptedAt).toISOString()} title={formatDateTime(run.acceptedAt)}>
              {formatAgo(serverNow - run.acceptedAt)}
            </time>
            {run.attempt > 1 && <span>attempt {run.attempt}</span>}
            {run.endedAt !== undefined && (
              <span title="From acceptance to end">took {formatDuration(run.endedAt - run.acceptedAt)}</span>
            )}
          </p>
          <ol class="run-steps" aria-label="Steps">
            {run.steps.map((step) => (
              <li key={step.name} class={`run-step is-${step.status}`}>
                <span class="run-step-name" title={step.name}>
                  <bdi>{step.name}</bdi>
                </span>
                <RunState status={step.status} />
                {step.durationMs !== undefined && <span class="muted"> {formatDuration(step.durationMs)}</span>}
              </li>
            ))}
          </ol>
          {run.error && (
            <p class="run-error">
              <strong class="tone-failed">{run.error.name}</strong> {run.error.message}
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}
