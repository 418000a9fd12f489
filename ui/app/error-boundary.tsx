import { Component, type ComponentChildren, type JSX } from 'preact';

interface Props {
  readonly children: ComponentChildren;
}

interface State {
  readonly error: unknown;
  readonly hasFailed: boolean;
}

/** Shows a message in place of a page that failed to render, such as with the data of a broken snapshot. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined, hasFailed: false };

  static override getDerivedStateFromError(error: unknown): State {
    return { error, hasFailed: true };
  }

  override render({ children }: Props, { error, hasFailed }: State): ComponentChildren | JSX.Element {
    if (!hasFailed) return children;
    return (
      <div class="main" role="alert">
        <h1>The page cannot show this data.</h1>
        <p>{error instanceof Error ? error.message : 'An unknown error occurred.'}</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      </div>
    );
  }
}
