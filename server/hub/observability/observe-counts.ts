import type { BatchObservableCallback } from '@opentelemetry/api';
import { instruments } from '../../telemetry/instruments.js';
import { openTelemetry } from '../../telemetry/open-telemetry.js';
import type { TransportManager } from '../../transports/transport.js';
import { telemetryAttributes } from './telemetry-attributes.js';

/**
 * Reports the service's pending and active events per type at each collection of metrics. Returns a function that
 * stops it.
 */
export function observeCounts(transport: TransportManager, types: readonly string[]): () => void {
  const api = openTelemetry();
  if (api === undefined || types.length === 0) return () => {};
  const { meter, pending, active } = instruments(api);
  const observe: BatchObservableCallback = async (result) => {
    const counts = await transport.counts(types);
    for (const [index, type] of types.entries()) {
      const own = counts[index]?.services.find(({ service }) => service === transport.service)?.counts;
      const attributes = telemetryAttributes(type, transport.service);
      result.observe(pending, own?.pending ?? 0, attributes);
      result.observe(active, own?.active ?? 0, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [pending, active]);
  return () => meter.removeBatchObservableCallback(observe, [pending, active]);
}
