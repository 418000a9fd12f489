import type { ErrorGroup, Hub } from 'hubline';

/** Returns the errors that processes have seen since the release that started last, one line per group. */
export async function newErrors(hub: Hub): Promise<string[]> {
  const { releases } = await hub.introspect();
  const current = releases.at(-1);
  const isNew = ({ firstSeenAt }: ErrorGroup): boolean => firstSeenAt >= (current?.startedAt ?? 0);
  const groups = await hub.errorGroups();
  return groups.filter(isNew).map(({ eventType, workflow, name, message, failures, deadLetters }) => {
    const subject = eventType ?? `workflow ${workflow}`;
    return `${failures} × ${subject}: ${name}: ${message} (${deadLetters} dead letters, since ${current?.release})`;
  });
}
