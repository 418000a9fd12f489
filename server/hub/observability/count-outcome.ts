import { instruments } from '../../telemetry/instruments.js';
import { openTelemetry } from '../../telemetry/open-telemetry.js';
import type { Outcome } from '../../transports/transport.js';
import { telemetryAttributes } from './telemetry-attributes.js';

/** Counts a recorded outcome. */
export function countOutcome(status: Outcome['status'], type: string, service: string): void {
  const api = openTelemetry();
  if (api === undefined) return;
  const { completed, failed, retried } = instruments(api);
  const counters: Partial<Record<Outcome['status'], typeof completed>> = { completed, failed, retry: retried };
  counters[status]?.add(1, telemetryAttributes(type, service));
}
