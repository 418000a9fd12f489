import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { WaitIntrospection } from '../../server/dashboard/protocol.js';
import { CopyButton } from '../shared/copy-button.js';
import type { ActionClient, ServiceContents } from './action-client.js';

export interface ContentsProps {
  /** Event or run. */
  readonly id: string;
  readonly client: ActionClient;
}

/** Payload, result and outputs of an event or a run, on request: the audit names who looked. */
export function Contents({ id, client }: ContentsProps): JSX.Element {
  const [loading, setLoading] = useState<Promise<readonly ServiceContents[]> | null>(null);
  return (
    <div class="contents">
      <button type="button" class="button" onClick={() => setLoading(loading === null ? client.contents(id) : null)}>
        {loading === null ? 'Show' : 'Hide'} payload
      </button>
      {loading !== null && <LoadedContents loading={loading} />}
    </div>
  );
}

export interface LoadedContentsProps {
  readonly loading: Promise<readonly ServiceContents[]>;
  /** Call that waits: its arguments, then the payload that led to it. @default everything */
  readonly wait?: WaitIntrospection | undefined;
}

/** Contents of an event or a run in each service, or those that decide on a call that waits in one. */
export function LoadedContents({ loading, wait }: LoadedContentsProps): JSX.Element {
  const [services, setServices] = useState<readonly ServiceContents[]>([]);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    loading.then(setServices, (cause: Error) => setError(cause.message));
  }, []);
  const meant = (contents: ServiceContents['contents']): ServiceContents['contents'] =>
    wait === undefined
      ? contents
      : ['arguments', 'payload'].flatMap((kind) =>
          contents.filter((each) => each.kind === kind && [undefined, wait.step.name].includes(each.step)),
        );
  return (
    <div class="contents" aria-live="polite">
      {error !== null && <p class="panel-notice">{error}</p>}
      {services
        .filter(({ service }) => wait === undefined || service === wait.service)
        .map(({ service, contents }) => (
          <ContentList key={service} contents={meant(contents)} />
        ))}
    </div>
  );
}

function ContentList({ contents }: Pick<ServiceContents, 'contents'>): JSX.Element {
  if (contents.length === 0) return <p class="panel-note">Nothing of it is stored any more.</p>;
  return (
    <>
      {contents.map(({ kind, step, json }) => (
        <figure key={`${kind} ${step}`}>
          <figcaption>
            <span>
              {kind}
              {step !== undefined && (
                <>
                  {' of '}
                  <bdi>{step}</bdi>
                </>
              )}
            </span>
            {json !== undefined && <CopyButton label="Copy" isInline text={() => json} />}
          </figcaption>
          {json === undefined ? (
            <p class="panel-note">Withheld: it could not be formatted.</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls, and must do so by keys too.
            <pre class="code panel-code" tabIndex={0}>
              {json}
            </pre>
          )}
        </figure>
      ))}
    </>
  );
}
