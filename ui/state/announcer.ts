import { type ReadonlySignal, signal } from '@preact/signals';
import { counted } from '../format/number.js';
import type { ConnectionState } from './connection-state.js';

/** Announces changes to screen readers, at most once per `ANNOUNCE_INTERVAL_MS`. */
export interface Announcer {
  /** Text of the page's live region. */
  readonly text: ReadonlySignal<string>;
  /** Reports the state of the connection. */
  connection(kind: ConnectionState['kind']): void;
  /** Reports the number of new failures by event type. */
  failures(byType: ReadonlyMap<string, number>): void;
}

export const ANNOUNCE_INTERVAL_MS = 10_000;

/** Creates an announcer with an empty text. */
export function createAnnouncer(): Announcer {
  const text = signal('');
  const failures = new Map<string, number>();
  let announced: ConnectionState['kind'] = 'connecting';
  let kind: ConnectionState['kind'] = 'connecting';
  let quietUntil = Number.NEGATIVE_INFINITY;
  let scheduled = false;

  const announce = (): void => {
    scheduled = false;
    const parts = [failureText(failures)];
    // The first connection is expected.
    if (kind !== announced && !(announced === 'connecting' && kind === 'live'))
      parts.unshift(`The connection is ${kind}.`);
    announced = kind;
    failures.clear();
    const message = parts.filter(Boolean).join(' ');
    if (message === '') return;
    text.value = message;
    quietUntil = performance.now() + ANNOUNCE_INTERVAL_MS;
  };

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setTimeout(announce, Math.max(0, quietUntil - performance.now()));
  };

  return {
    text,
    connection: (next) => {
      kind = next;
      schedule();
    },
    failures: (byType) => {
      if (byType.size === 0) return;
      for (const [type, count] of byType) failures.set(type, (failures.get(type) ?? 0) + count);
      schedule();
    },
  };
}

function failureText(byType: ReadonlyMap<string, number>): string {
  const [first] = byType;
  if (first === undefined) return '';
  const count = [...byType.values()].reduce((sum, failed) => sum + failed);
  return `${counted(count, 'new failure')} in ${byType.size === 1 ? first[0] : `${byType.size} event types`}.`;
}
