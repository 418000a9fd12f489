import type { LostProcess, ReleaseIntrospection } from '../../server/dashboard/protocol.js';

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

/** Mark of a release or of a loss on a time axis. */
export interface ChartMark {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly label: string;
  readonly tone: 'stale' | 'lost';
  /** Word of the title between the label and the time: "v2 started 10:42:00", "worker-7 lost at 10:42:00". */
  readonly link: string;
}

/**
 * Returns the releases that replaced another one, as marks. Services that start one at the same minute share a mark; the
 * first release that is known replaced nothing.
 */
export function releaseMarks(releases: readonly ReleaseIntrospection[]): readonly ChartMark[] {
  const marks: { readonly at: number; readonly label: string; readonly services: readonly string[] }[] = [];
  const known = new Set<string>();
  for (const { service, release, startedAt } of [...releases].sort((a, b) => a.startedAt - b.startedAt)) {
    const isFirst = !known.has(service);
    known.add(service);
    if (isFirst) continue;
    const last = marks.at(-1);
    const joins = last !== undefined && last.label === release && startedAt - last.at < 60_000;
    if (joins) marks[marks.length - 1] = { ...last, services: [...last.services, service] };
    else marks.push({ at: startedAt, label: release, services: [service] });
  }
  const isOne = known.size < 2;
  return marks.map(({ at, label, services }) => ({
    at,
    label: isOne ? label : `${label} · ${services.join(', ')}`,
    tone: 'stale',
    link: 'started',
  }));
}

/** Returns lost processes as marks. Those that were lost within a minute share one. */
export function lossMarks(lost: readonly Pick<LostProcess, 'host' | 'lostAt'>[]): readonly ChartMark[] {
  const groups: { readonly at: number; readonly hosts: readonly string[] }[] = [];
  for (const { host, lostAt } of [...lost].sort((a, b) => a.lostAt - b.lostAt)) {
    const last = groups.at(-1);
    if (last !== undefined && lostAt - last.at < 60_000)
      groups[groups.length - 1] = { ...last, hosts: [...last.hosts, host] };
    else groups.push({ at: lostAt, hosts: [host] });
  }
  return groups.map(({ at, hosts }) => ({
    at,
    label: hosts.length === 1 ? `${hosts[0]} lost` : `${hosts.length} processes lost`,
    tone: 'lost',
    link: 'at',
  }));
}
