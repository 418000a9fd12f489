import type { ReadonlySignal } from '@preact/signals';

/** Subscribes the running component, effect or computed signal to a signal whose value it does not use. */
export function subscribeTo(signal: ReadonlySignal<unknown>): void {
  // A call, because bundlers may drop a property read whose value is unused.
  signal.valueOf();
}
