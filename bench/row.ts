/** One line of the table: what Hubline achieves beside a peer, measured in the same run. */
export interface Row {
  /** What was done, with its sizes: `one event to one handler, 100 at once`. */
  readonly scenario: string;
  /** What both figures are in: `events/s`, `us a turn`, `MB`. */
  readonly unit: string;
  readonly hubline: number;
  /** Who was measured beside it, with the version where it has one. */
  readonly peer?: { readonly name: string; readonly figure: number };
  readonly target?: Target;
}

/** What a row has to reach; the reasons are in README.md. */
export interface Target {
  /** `figure` is Hubline's own, `ratio` is that by the peer's. */
  readonly of: 'figure' | 'ratio';
  readonly limit: 'at least' | 'at most';
  readonly value: number;
}

/** Hubline's figure by the peer's; `undefined` without a peer. */
export function ratioOf({ hubline, peer }: Row): number | undefined {
  return peer === undefined ? undefined : hubline / peer.figure;
}

/** Whether a row reaches its target; `undefined` where it has none. */
export function isMet(row: Row): boolean | undefined {
  const { target } = row;
  if (target === undefined) return undefined;
  const reached = target.of === 'figure' ? row.hubline : ratioOf(row);
  if (reached === undefined) throw new Error(`a target of a ratio needs a peer: ${row.scenario}`);
  return target.limit === 'at least' ? reached >= target.value : reached <= target.value;
}
