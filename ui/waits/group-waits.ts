import type { WaitIntrospection } from '../../server/dashboard/protocol.js';

/** Waits of one step of one workflow or event type. */
export interface WaitGroup {
  readonly kind: WaitIntrospection['kind'];
  readonly type: string;
  readonly step: string;
  readonly waits: readonly WaitIntrospection[];
}

/** Groups waits by what runs and by step. Groups and waits stay in the order of the list: the oldest first. */
export function groupWaits(waits: readonly WaitIntrospection[]): readonly WaitGroup[] {
  const groups = new Map<string, WaitGroup & { readonly waits: WaitIntrospection[] }>();
  for (const wait of waits) {
    const { kind, type, step } = wait;
    const key = JSON.stringify([kind, type, step.name]);
    const group = groups.get(key) ?? { kind, type, step: step.name, waits: [] };
    group.waits.push(wait);
    groups.set(key, group);
  }
  return [...groups.values()];
}
