import type { Hub } from '../../hub/hub.js';
import type { EventBody, EventSettings } from '../protocol.js';

const settingNames = [
  'retry',
  'timeoutMs',
  'concurrency',
  'hasKey',
  'concurrencyPerKey',
  'rate',
  'debounceMs',
  'debounceMaxMs',
] as const satisfies readonly (keyof EventSettings)[];

/** Reads the body of one event type. */
export async function readEventBody(hub: Hub, type: string): Promise<EventBody> {
  const [metrics, recentFailures, description, recent] = await Promise.all([
    hub.metrics(type),
    hub.failures(type),
    hub.describe(type),
    hub.recent({ type }),
  ]);
  const settings: EventSettings = Object.fromEntries(
    settingNames.flatMap((name) => (description[name] === undefined ? [] : [[name, description[name]]])),
  );
  return {
    ...metrics,
    settings,
    ...(description.schema !== undefined && { schema: description.schema }),
    recentFailures,
    recentEvents: recent.newest,
    failedEvents: recent.failed,
  };
}
