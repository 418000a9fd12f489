import { effect, type ReadonlySignal } from '@preact/signals';

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
