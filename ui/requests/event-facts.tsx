import type { ComponentChildren, JSX } from 'preact';
import type { EventDetails } from '../../server/dashboard/protocol.js';
import { CopyButton } from '../controls/copy-button.js';
import { formatDateTime } from '../format/clock-time.js';
import { formatAgo } from '../format/duration.js';
import { viewPath } from '../routing/route.js';
import { EventLink } from '../shared/links/event-link.js';
import { replayCode } from '../shared/hub-code.js';
import { IdLink } from '../shared/links/id-link.js';

export interface EventFactsProps {
  readonly event: EventDetails;
  /** Name of the hub's transport; `undefined` before the first response. */
  readonly transport: string | undefined;
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  /** Query that links retain. */
  readonly query: string;
}

/** Facts about the selected event or run, with the code that replays it if it is a dead letter. */
export function EventFacts({ event, transport, now, query }: EventFactsProps): JSX.Element {
  const { id, kind, type, service, causeId, acceptedAt, attempt, error, step, isDeadLetter } = event;
  const replay = replayCode(id, transport);
  return (
    <section class="card request-event" aria-label={`${kind === 'workflow' ? 'Run' : 'Event'} ${id}`}>
      <dl class="facts">
        <Fact label={kind === 'workflow' ? 'Workflow' : 'Event type'}>
          {kind === 'workflow' ? (
            <a href={viewPath('workflows', type) + query}>
              <bdi>{type}</bdi>
            </a>
          ) : (
            <EventLink type={type} query={query} />
          )}
        </Fact>
        <Fact label="Id">
          <IdLink id={id} name={kind === 'workflow' ? 'run' : 'event'} query={query} />
        </Fact>
        <Fact label="Caused by">
          {causeId === undefined ? 'outside' : <IdLink id={causeId} name="event" query={query} />}
        </Fact>
        <Fact label="Accepted">
          <time dateTime={new Date(acceptedAt).toISOString()} title={formatDateTime(acceptedAt)}>
            {formatAgo(now - acceptedAt)}
          </time>
        </Fact>
        <Fact label="Service">{service}</Fact>
        <Fact label="Attempt">{attempt}</Fact>
        {error && (
          <Fact label={step === undefined ? 'Error' : `Error in ${step}`}>
            <strong class="tone-failed">{error.name}</strong> {error.message}
          </Fact>
        )}
      </dl>
      {isDeadLetter === true && (
        <div class="replay">
          <pre class="code panel-code">{replay}</pre>
          <CopyButton label="Copy code" text={() => replay} />
        </div>
      )}
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
