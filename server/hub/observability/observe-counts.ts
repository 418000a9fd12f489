import type { BatchObservableCallback } from '@opentelemetry/api';
import { instruments } from '../../telemetry/instruments.js';
import { openTelemetry } from '../../telemetry/open-telemetry.js';
import type { TransportManager } from '../../transports/transport.js';
import { destinationOf } from './telemetry-attributes.js';

/** Shows how many events of these types the service has to handle and handles, whenever metrics are collected. Returns what ends that. */
export function observeCounts(transport: TransportManager, types: readonly string[]): () => void {
  const api = openTelemetry();
  if (api === undefined || types.length === 0) return () => {};
  const { meter, pending, active } = instruments(api);
  const observe: BatchObservableCallback = async (result) => {
    const counts = await transport.counts(types);
    for (const [index, type] of types.entries()) {
      const own = counts[index]?.services.find(({ service }) => service === transport.service)?.counts;
      const { attributes } = destinationOf(type, transport.service);
      result.observe(pending, own?.pending ?? 0, attributes);
      result.observe(active, own?.active ?? 0, attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [pending, active]);
  return () => meter.removeBatchObservableCallback(observe, [pending, active]);
}
