import type { Hub } from '../../hub/hub.js';
import type { DashboardOptions } from '../dashboard-options.js';
import type { EventBody, EventSettings } from '../protocol.js';
import { redactFailure } from './redact-failure.js';

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

/** Reads the body of one event type, with its failures redacted. */
export async function readEventBody(
  hub: Hub,
  type: string,
  redactError: DashboardOptions['redactError'],
): Promise<EventBody> {
  const [metrics, failures, description] = await Promise.all([
    hub.metrics(type),
    hub.failures(type),
    hub.describe(type),
  ]);
  const settings: EventSettings = Object.fromEntries(
    settingNames.flatMap((name) => (description[name] === undefined ? [] : [[name, description[name]]])),
  );
  return {
    ...metrics,
    settings,
    ...(description.schema !== undefined && { schema: description.schema }),
    recentFailures: failures.map((failure) => redactFailure(failure, redactError)),
  };
}
