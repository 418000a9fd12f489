import { quote } from '../../errors.js';
import type { FleetReader, Logger } from '../../transports/transport.js';
import { type EventDescription, type HubDescription, isRunning, parseDescription } from './hub-description.js';

const settings = [
  'hasKey',
  'concurrency',
  'concurrencyPerKey',
  'rate',
  'debounceMs',
  'debounceMaxMs',
  'retry',
  'timeoutMs',
] as const;

type Settings = Pick<EventDescription, (typeof settings)[number]>;

/** Type that hubs of one service handle with different settings. */
interface Difference {
  readonly type: string;
  /** Settings that differ, in this hub. */
  readonly here: Settings;
  /** The same settings in another hub. */
  readonly elsewhere: Settings;
}

/** Logs one warning per type that another running hub of the service handles with settings other than `own`. */
export async function warnOfDifferingSettings(own: HubDescription, fleet: FleetReader, logger: Logger): Promise<void> {
  try {
    const registered = (await fleet.registered()).map(parseDescription);
    const running = registered.filter(isRunning);
    for (const { type, here, elsewhere } of differingSettings(own, running)) {
      logger.warn(
        { eventType: type, here, elsewhere },
        `event ${quote(type)} has different settings in another hub of service ${quote(own.service)}: ${JSON.stringify(here)} in this hub, ${JSON.stringify(elsewhere)} in the other; concurrency and rate of the hub that started last apply to all, retry and timeoutMs apply per hub`,
      );
    }
  } catch (error) {
    // The comparison is only advice, so its failure must not fail the start.
    logger.debug({ err: error }, 'comparing settings with other hubs failed');
  }
}

function differingSettings(own: HubDescription, running: readonly HubDescription[]): Iterable<Difference> {
  const handled = new Map(own.events.filter(isHandled).map((event) => [event.type, event]));
  const found = new Map<string, Difference>();
  for (const other of running.filter(({ service }) => service === own.service).flatMap(({ events }) => events)) {
    const event = isHandled(other) && !found.has(other.type) ? handled.get(other.type) : undefined;
    if (event === undefined) continue;
    const differing = settings.filter((name) => JSON.stringify(event[name]) !== JSON.stringify(other[name]));
    if (differing.length === 0) continue;
    const { type } = event;
    found.set(type, { type, here: pick(event, differing), elsewhere: pick(other, differing) });
  }
  return found.values();
}

function isHandled({ kind }: EventDescription): boolean {
  return kind !== 'declared';
}

function pick(event: EventDescription, names: readonly (typeof settings)[number][]): Settings {
  return Object.fromEntries(names.map((name) => [name, event[name] ?? null]));
}
