import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ContentsBody, ShownContent } from '../../server/dashboard/protocol.js';
import { CopyButton } from '../shared/copy-button.js';
import type { ActionClient } from './action-client.js';

export interface ContentsProps {
  /** Event or run. */
  readonly id: string;
  readonly client: ActionClient;
}

/** Payload, result and outputs of an event or a run, on request: the audit names who looked. */
export function Contents({ id, client }: ContentsProps): JSX.Element {
  const [body, setBody] = useState<ContentsBody | null>(null);
  const [error, setError] = useState<string | null>(null);
  const load = (): void => {
    setError(null);
    client.contents(id, '').then(setBody, (cause: Error) => setError(cause.message));
  };
  return (
    <div class="contents">
      <button type="button" class="button" onClick={body === null ? load : () => setBody(null)}>
        {body === null ? 'Show' : 'Hide'} payload
      </button>
      <div aria-live="polite">
        {error !== null && <p class="panel-notice">{error}</p>}
        {body?.events.map(({ service, contents }) => (
          <ContentList key={service} contents={contents} />
        ))}
      </div>
    </div>
  );
}

function ContentList({ contents }: { contents: readonly ShownContent[] }): JSX.Element {
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
