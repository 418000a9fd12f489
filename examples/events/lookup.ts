import type { EventDetails, Hub } from 'hubline';

/** Describes what happened in a request, one line per event, each below its cause. */
export async function explainRequest(hub: Hub, requestId: string): Promise<string[]> {
  const { events } = await hub.getRequest(requestId);
  const known = new Set(events.map(({ id }) => id));
  const linesOf = (event: EventDetails, depth: number): string[] => [
    `${'  '.repeat(depth)}${event.type} ${event.status}${event.error ? `: ${event.error.message}` : ''}`,
    ...events.filter(({ causeId }) => causeId === event.id).flatMap((effect) => linesOf(effect, depth + 1)),
  ];
  return events
    .filter(({ causeId }) => causeId === undefined || !known.has(causeId))
    .flatMap((event) => linesOf(event, 0));
}

/** Replays what failed in a request since a time, and returns the number of events. */
export async function replayRequest(hub: Hub, type: string, requestId: string, since: Date): Promise<number> {
  const dead = await hub.deadLetters(type, { requestId, since, limit: 1_000 });
  for (const { id } of dead) await hub.replay(id);
  return dead.length;
}

/** Removes the payloads of a customer's request. Throws while events of it are pending. */
export async function forgetRequest(hub: Hub, requestId: string): Promise<void> {
  const { pending } = await hub.erase({ requestId });
  if (pending > 0) throw new Error(`${pending} events of the request are pending; erase it again when they have ended`);
}
