import { effect, type ReadonlySignal } from '@preact/signals';
import { Component, type ComponentChildren, type JSX } from 'preact';

/** Calls `callback` once: as soon as `isReady` is true, or after `timeoutMs`. */
export function whenReady(isReady: ReadonlySignal<boolean>, timeoutMs: number, callback: () => void): void {
  let isCalled = false;
  const call = (): void => {
    if (isCalled) return;
    isCalled = true;
    clearTimeout(timer);
    // Not inside the effect, which would track the signals that the callback reads.
    queueMicrotask(() => {
      stop();
      callback();
    });
  };
  const timer = setTimeout(call, timeoutMs);
  const stop = effect(() => {
    if (isReady.value) call();
  });
}

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
          <button type="button" class="button" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      </div>
    );
  }
}
