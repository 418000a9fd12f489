import { type ReadonlySignal, signal } from '@preact/signals';
import type { Connection } from './connection-state.js';

/** Says what happened to those who don't see it, no more often than every `ANNOUNCE_EVERY_MS`. */
export interface Announcer {
  /** The text of the page's one live region. */
  readonly text: ReadonlySignal<string>;
  connection(kind: Connection['kind']): void;
  failures(byType: ReadonlyMap<string, number>): void;
}

export const ANNOUNCE_EVERY_MS = 10_000;

export function createAnnouncer(): Announcer {
  const text = signal('');
  const failures = new Map<string, number>();
  let said: Connection['kind'] = 'connecting';
  let kind: Connection['kind'] = 'connecting';
  let quietUntil = Number.NEGATIVE_INFINITY;
  let scheduled = false;

  const say = (): void => {
    scheduled = false;
    const parts = [failureText(failures)];
    // The first connection is what everybody expects.
    if (kind !== said && !(said === 'connecting' && kind === 'live')) parts.unshift(`The connection is ${kind}.`);
    said = kind;
    failures.clear();
    const message = parts.filter(Boolean).join(' ');
    if (message === '') return;
    text.value = message;
    quietUntil = performance.now() + ANNOUNCE_EVERY_MS;
  };

  const speak = (): void => {
    if (scheduled) return;
    scheduled = true;
    setTimeout(say, Math.max(0, quietUntil - performance.now()));
  };

  return {
    text,
    connection: (next) => {
      kind = next;
      speak();
    },
    failures: (byType) => {
      if (byType.size === 0) return;
      for (const [type, count] of byType) failures.set(type, (failures.get(type) ?? 0) + count);
      speak();
    },
  };
}

function failureText(byType: ReadonlyMap<string, number>): string {
  const [first] = byType;
  if (first === undefined) return '';
  const count = [...byType.values()].reduce((sum, failed) => sum + failed, 0);
  const noun = count === 1 ? 'failure' : 'failures';
  return byType.size === 1
    ? `${count} new ${noun} in ${first[0]}.`
    : `${count} new ${noun} in ${byType.size} event types.`;
}
