import type { LostProcess, ReleaseIntrospection } from '../../server/dashboard/protocol.js';

/** Returns the release that started last and replaced another one of its service; `undefined` if there is none. */
export function latestRelease(releases: readonly ReleaseIntrospection[]): ReleaseIntrospection | undefined {
  const replacing = releases.filter(({ service, startedAt }) =>
    releases.some((other) => other.service === service && other.startedAt < startedAt),
  );
  return replacing.sort((a, b) => a.startedAt - b.startedAt).at(-1);
}

/** Mark of a release or of a loss on a time axis. */
export interface ChartMark {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly label: string;
  readonly tone: 'stale' | 'lost';
  /** Word of the title between the label and the time: "v2 started 10:42:00", "worker-7 lost at 10:42:00". */
  readonly link: string;
}

/** Mark at `x`, whose name stands in one of two rows, and begins or ends at its line. */
export interface PlacedMark extends ChartMark {
  readonly x: number;
  readonly row: number;
  readonly endsAtLine: boolean;
}

/**
 * Places the names of marks, the first mark first. Names point away from the right edge, and from names that do. In a chart
 * of four names' width, none covers another one or a line while two rows are enough.
 */
export function placeMarks(
  marks: readonly (ChartMark & { readonly x: number })[],
  width: number,
  nameWidth: number,
): readonly PlacedMark[] {
  const starting = [...marks];
  const ending: typeof starting = [];
  let edge = width - nameWidth;
  for (let last = starting.at(-1); last !== undefined && last.x > edge; last = starting.at(-1)) {
    ending.unshift(last);
    starting.pop();
    edge = Math.max(nameWidth, last.x - 2 * nameWidth);
  }
  const inRows = (all: typeof starting, endsAtLine: boolean): PlacedMark[] => {
    let [row, before] = [0, Number.NaN];
    return all.map((mark) => {
      row = Math.abs(mark.x - before) < nameWidth ? 1 - row : 0;
      before = mark.x;
      return { ...mark, row, endsAtLine };
    });
  };
  return [...inRows(starting, false), ...inRows(ending.reverse(), true).reverse()];
}

/** Time and name of what a mark stands for. Those with one key share a mark if they are within a minute. */
interface Marked {
  readonly at: number;
  readonly key: string;
  readonly name: string;
}

/** Returns a mark for each group. @param labelOf returns the label of a key with its names */
function marksOf(
  all: readonly Marked[],
  look: Pick<ChartMark, 'tone' | 'link'>,
  labelOf: (key: string, names: readonly string[]) => string,
): readonly ChartMark[] {
  const groups: { readonly at: number; readonly key: string; readonly names: string[] }[] = [];
  for (const { at, key, name } of all) {
    const last = groups.at(-1);
    if (last?.key === key && at - last.at < 60_000) last.names.push(name);
    else groups.push({ at, key, names: [name] });
  }
  return groups.map(({ at, key, names }) => ({ at, label: labelOf(key, names), ...look }));
}

/**
 * Returns the releases that replaced another one, as marks. Services that start one at the same minute share a mark; the
 * first release that is known replaced nothing.
 */
export function releaseMarks(releases: readonly ReleaseIntrospection[]): readonly ChartMark[] {
  const known = new Set<string>();
  const starts = [...releases]
    .sort((a, b) => a.startedAt - b.startedAt)
    .flatMap(({ service, release, startedAt }) => {
      const isFirst = !known.has(service);
      known.add(service);
      return isFirst ? [] : { at: startedAt, key: release, name: service };
    });
  return marksOf(starts, { tone: 'stale', link: 'started' }, (release, services) =>
    known.size < 2 ? release : `${release} · ${services.join(', ')}`,
  );
}

/** Returns lost processes as marks. Those that were lost within a minute share one. */
export function lossMarks(lost: readonly Pick<LostProcess, 'host' | 'lostAt'>[]): readonly ChartMark[] {
  const losses = lost.map(({ host, lostAt }) => ({ at: lostAt, key: '', name: host })).sort((a, b) => a.at - b.at);
  return marksOf(losses, { tone: 'lost', link: 'at' }, (_, hosts) =>
    hosts.length === 1 ? `${hosts[0]} lost` : `${hosts.length} processes lost`,
  );
}
