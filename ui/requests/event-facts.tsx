import type { ComponentChildren, JSX } from 'preact';
import type { EventDetails } from '../../server/dashboard/protocol.js';
import { formatDateTime } from '../format/clock-time.js';
import { formatAgo } from '../format/duration.js';
import { viewPath } from '../routing/route.js';
import { CodeToCopy } from '../shared/code-to-copy.js';
import { replayCode } from '../shared/hub-code.js';
import { EventLink } from '../shared/links/event-link.js';
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
          <Fact label={step === undefined ? 'Error' : `Error in ${step}`} isWide>
            <strong class="tone-failed">{error.name}</strong> {error.message}
          </Fact>
        )}
      </dl>
      {isDeadLetter === true && <CodeToCopy code={replayCode(id, transport)} />}
    </section>
  );
}

interface FactProps {
  readonly label: string;
  /** True for a line of its own. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

function Fact({ label, isWide = false, children }: FactProps): JSX.Element {
  return (
    <div class={isWide ? 'fact-wide' : undefined}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
