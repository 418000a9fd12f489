import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ContentsBody, ShownContent, WaitIntrospection } from '../../server/dashboard/protocol.js';
import { CopyButton } from '../shared/copy-button.js';
import type { ActionClient } from './action-client.js';

export interface ContentsProps {
  /** Event or run. */
  readonly id: string;
  readonly client: ActionClient;
}

/** Payload, result and outputs of an event or a run, on request: the audit names who looked. */
export function Contents({ id, client }: ContentsProps): JSX.Element {
  const [isShown, setShown] = useState(false);
  return (
    <div class="contents">
      <button type="button" class="button" onClick={() => setShown(!isShown)}>
        {isShown ? 'Hide' : 'Show'} payload
      </button>
      <div aria-live="polite">{isShown && <LoadedContents id={id} client={client} />}</div>
    </div>
  );
}

/** Arguments of a call that waits in a service. They are loaded at once: the audit names who looked. */
export function CallArguments(call: ContentsProps & Pick<WaitIntrospection, 'service' | 'step'>): JSX.Element {
  return (
    <div class="contents" aria-live="polite">
      <LoadedContents {...call} />
    </div>
  );
}

function LoadedContents({ id, client, service, step }: ContentsProps & Partial<WaitIntrospection>): JSX.Element {
  const [body, setBody] = useState<ContentsBody | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    client.contents(id, '').then(setBody, (cause: Error) => setError(cause.message));
  }, []);
  if (error !== null) return <p class="panel-notice">{error}</p>;
  const isMeant = (one: ShownContent): boolean => one.kind === 'arguments' && one.step === step?.name;
  return (
    <>
      {body?.events
        .filter((event) => service === undefined || event.service === service)
        .map((event) => (
          <ContentList
            key={event.service}
            contents={step === undefined ? event.contents : event.contents.filter(isMeant)}
          />
        ))}
    </>
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
