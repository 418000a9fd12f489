/** Row of the table: Hubline and a peer, measured in the same run. */
export interface Row {
  /** Scenario with its sizes: `one event to one handler, 100 at once`. */
  readonly scenario: string;
  /** Unit of both figures: `events/s`, `us per turn`, `MB`. */
  readonly unit: string;
  readonly hubline: number;
  /** Peer with its version. */
  readonly peer?: { readonly name: string; readonly figure: number };
  readonly target?: Target;
}

/** Target of a row; README.md has the reasons. */
export interface Target {
  /** `figure` is Hubline's figure, `ratio` is it divided by the peer's. */
  readonly of: 'figure' | 'ratio';
  readonly limit: 'at least' | 'at most';
  readonly value: number;
}

/** Returns Hubline's figure divided by the peer's, or `undefined` without a peer. */
export function ratioOf({ hubline, peer }: Row): number | undefined {
  return peer === undefined ? undefined : hubline / peer.figure;
}

/** Returns `true` if a row reaches its target, `undefined` if it has none. */
export function isMet(row: Row): boolean | undefined {
  const { target } = row;
  if (target === undefined) return undefined;
  const reached = target.of === 'figure' ? row.hubline : ratioOf(row);
  if (reached === undefined) throw new Error(`a target of a ratio needs a peer: ${row.scenario}`);
  return target.limit === 'at least' ? reached >= target.value : reached <= target.value;
}
