import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { EventSummary, SearchBody } from '../../server/dashboard/protocol.js';
import { useActions } from '../actions/actions.js';
import { formatDateTime } from '../format/clock-time.js';
import { Segments } from '../shared/choices.js';
import { Icon } from '../shared/icon.js';
import { RunLink } from '../shared/links.js';
import { StateLabel } from '../shared/states.js';
import { Ago } from '../shared/times.js';
import { EmptyState, Failure, LoadedView, ViewSection } from '../shared/view-section.js';
import { BoundedRows, ViewTable, ViewTableCell } from '../shared/view-table.js';
import type { Monitor } from '../state/monitor.js';
import type { Navigation } from '../state/navigation.js';

export interface TaggedProps {
  readonly monitor: Monitor;
  readonly navigation: Navigation;
}

/** Number of events that are shown first. */
const SHOWN = 30;

const COLUMNS = ['Event or run', 'Status', 'Accepted', 'Error'];

/** View of the events and runs with a tag, of event types and workflows that show their tags. */
export function Tagged({ monitor, navigation }: TaggedProps): JSX.Element {
  const tag = navigation.openTag.value ?? '';
  const query = navigation.query.value;
  return (
    <LoadedView
      view="tagged"
      monitor={monitor}
      data={monitor.tagged.value}
      aside={<bdi class="muted">{tag}</bdi>}
      isEmpty={({ events }) => events.length === 0}
      emptyTitle="Nothing with this tag"
      hint="Events and runs are found while they are retained, of event types and workflows with showTags."
    >
      {({ events, isTruncated, now: readAt }) => (
        <>
          <FoundEvents
            caption={`Events and runs with the tag ${tag}, newest first.`}
            events={events}
            now={Math.max(monitor.serverNow.value, readAt)}
            query={query}
          />
          {isTruncated && <p class="muted">The command hubline search lists older ones.</p>}
        </>
      )}
    </LoadedView>
  );
}

const KINDS = ['tag', 'key'] as const;
const KIND_LABEL = { tag: 'Tag', key: 'Key' } as const;
type Kind = (typeof KINDS)[number];

/** Result of a search, with all of its pages so far. */
interface Found {
  readonly query: { readonly kind: Kind; readonly text: string };
  readonly body: SearchBody;
}

/** Focuses the text when the view opens, so that Enter searches. */
function focus(element: HTMLElement | null): void {
  element?.focus();
}

/** View of the events and runs of all types with a tag or a key, for users with the right to search. */
export function Search({ monitor, navigation }: TaggedProps): JSX.Element {
  const actions = useActions();
  const client = actions?.may('search') === true ? actions.client : null;
  const [text, setText] = useState(navigation.searchText.value);
  const [kind, setKind] = useState<Kind>('tag');
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<string | null>(null);
  const latest = useRef(0);
  // Only when the user submits: each search is recorded in the audit.
  const search = (query: Found['query'], earlier?: SearchBody): void => {
    if (client === null || query.text === '') return;
    latest.current += 1;
    const request = latest.current;
    setError(null);
    client.search({ [query.kind]: query.text, ...(earlier?.after !== undefined && { after: earlier.after }) }).then(
      (next) => {
        const body = { ...next, events: [...(earlier?.events ?? []), ...next.events] };
        if (request === latest.current) setFound({ query, body });
      },
      (cause: Error) => {
        if (request === latest.current) setError(cause.message);
      },
    );
  };
  return (
    <ViewSection
      view="search"
      store={monitor.store}
      aside={<span class="panel-period">of all types; the audit records each search</span>}
    >
      {client === null ? (
        <EmptyState title="No access">
          <p>A search over all types needs an actions handler, and the right to search.</p>
        </EmptyState>
      ) : (
        <form
          class="run-filters"
          onSubmit={(event) => {
            event.preventDefault();
            search({ kind, text });
          }}
        >
          <Segments
            label="Search by"
            options={KINDS}
            nameOf={(each) => KIND_LABEL[each]}
            value={kind}
            onChange={setKind}
          />
          <div class="search">
            <Icon name="search" />
            <input
              ref={focus}
              aria-label={KIND_LABEL[kind]}
              autocomplete="off"
              spellcheck={false}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </div>
          <button type="submit" class="button">
            Search
          </button>
        </form>
      )}
      {error !== null && <Failure message={error} />}
      {found?.body.events.length === 0 && (
        <EmptyState title="Nothing found">
          <p>Events and runs of types with tags are found while they are retained.</p>
        </EmptyState>
      )}
      {found !== null && found.body.events.length > 0 && (
        <FoundEvents
          caption={`Events and runs with the ${found.query.kind} ${found.query.text}, newest first.`}
          events={found.body.events}
          now={Math.max(monitor.serverNow.value, found.body.now)}
          query={navigation.query.value}
        />
      )}
      {found?.body.after !== undefined && (
        <button type="button" class="button" onClick={() => search(found.query, found.body)}>
          Search older ones
        </button>
      )}
      {found?.body.since !== undefined && (
        <p class="muted">Events accepted before {formatDateTime(found.body.since)} may be missing.</p>
      )}
    </ViewSection>
  );
}

interface FoundEventsProps {
  readonly caption: string;
  readonly events: readonly EventSummary[];
  /** Current time in epoch milliseconds on the server's clock. */
  readonly now: number;
  readonly query: string;
}

function FoundEvents({ caption, events, now, query }: FoundEventsProps): JSX.Element {
  return (
    <ViewTable caption={caption} columns={COLUMNS}>
      <BoundedRows items={events} limit={SHOWN} noun="events and runs" columns={COLUMNS.length}>
        {({ id, service, kind, type, status, acceptedAt, error }) => (
          <tr key={`${service} ${id}`}>
            <th scope="row">
              <RunLink id={id} kind={kind} type={type} query={query} />
            </th>
            <ViewTableCell label="Status" isFailed={status === 'failed'}>
              <StateLabel state={status} />
            </ViewTableCell>
            <ViewTableCell label="Accepted">
              <Ago at={acceptedAt} now={now} />
            </ViewTableCell>
            <ViewTableCell label="Error">{error === undefined ? '—' : `${error.name}: ${error.message}`}</ViewTableCell>
          </tr>
        )}
      </BoundedRows>
    </ViewTable>
  );
}
