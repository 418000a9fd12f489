import type { ReleaseIntrospection } from '../../server/dashboard/protocol.js';

/** Returns the release that started last and replaced another one of its service; `undefined` if there is none. */
export function latestRelease(releases: readonly ReleaseIntrospection[]): ReleaseIntrospection | undefined {
  const replacing = releases.filter(({ service, startedAt }) =>
    releases.some((other) => other.service === service && other.startedAt < startedAt),
  );
  return replacing.reduce<ReleaseIntrospection | undefined>(
    (latest, each) => (latest === undefined || each.startedAt >= latest.startedAt ? each : latest),
    undefined,
  );
}

/** Mark of a release on a time axis. */
export interface ReleaseMark {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly label: string;
}

/**
 * Returns the releases that replaced another one, as marks. Services that start one at the same minute share a mark; the
 * first release that is known replaced nothing.
 */
export function releaseMarks(releases: readonly ReleaseIntrospection[]): readonly ReleaseMark[] {
  const marks: (ReleaseMark & { readonly services: readonly string[] })[] = [];
  const known = new Set<string>();
  for (const { service, release, startedAt } of [...releases].sort((a, b) => a.startedAt - b.startedAt)) {
    const isFirst = !known.has(service);
    known.add(service);
    if (isFirst) continue;
    const last = marks.at(-1);
    const joins = last !== undefined && last.label.split(' · ')[0] === release && startedAt - last.at < 60_000;
    if (joins) marks[marks.length - 1] = { ...last, services: [...last.services, service] };
    else marks.push({ at: startedAt, label: release, services: [service] });
  }
  const isOne = known.size < 2;
  return marks.map(({ at, label, services }) => ({ at, label: isOne ? label : `${label} · ${services.join(', ')}` }));
}
