import type { Counter, Histogram, Meter, MeterProvider, ObservableGauge } from '@opentelemetry/api';
import { version } from '../version.js';
import type { OpenTelemetryApi } from './open-telemetry.js';

/** Metric instruments. Names, units and buckets follow the semantic conventions if these define the metric. */
export interface Instruments {
  readonly meter: Meter;
  readonly sent: Counter;
  readonly consumed: Counter;
  readonly completed: Counter;
  readonly failed: Counter;
  readonly retried: Counter;
  readonly pending: ObservableGauge;
  readonly active: ObservableGauge;
  readonly sendDuration: Histogram;
  readonly processDuration: Histogram;
  readonly stepDuration: Histogram;
  readonly genAiDuration: Histogram;
  readonly tokens: Histogram;
}

const messagingSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const genAiSeconds = Array.from({ length: 14 }, (_, index) => 0.01 * 2 ** index);
const tokenCounts = Array.from({ length: 14 }, (_, index) => 4 ** index);

const cache = new WeakMap<MeterProvider, Instruments>();

/** Returns the instruments of the application's meter provider. Creates them once per provider. */
export function instruments({ metrics }: OpenTelemetryApi): Instruments {
  const provider = metrics.getMeterProvider();
  let found = cache.get(provider);
  if (found === undefined) {
    found = createInstruments(provider.getMeter('hubline', version));
    cache.set(provider, found);
  }
  return found;
}

function createInstruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const gauge = (name: string, description: string): ObservableGauge =>
    meter.createObservableGauge(name, { unit: '{event}', description });
  const histogram = (name: string, unit: string, description: string, buckets: number[]): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: buckets } });
  return {
    meter,
    sent: counter('messaging.client.sent.messages', '{message}', 'Events sent, follow-ups included'),
    consumed: counter('messaging.client.consumed.messages', '{message}', 'Attempts started'),
    completed: counter('hubline.events.completed', '{event}', 'Events that completed'),
    failed: counter('hubline.events.failed', '{event}', 'Events that failed terminally'),
    retried: counter('hubline.events.retried', '{event}', 'Failed attempts that are retried'),
    pending: gauge('hubline.events.pending', 'Events of the service that have been accepted and have not ended'),
    active: gauge('hubline.events.active', 'Events of the service whose handler runs'),
    sendDuration: histogram('messaging.client.operation.duration', 's', 'Duration of sending', messagingSeconds),
    processDuration: histogram('messaging.process.duration', 's', 'Duration of attempts', messagingSeconds),
    stepDuration: histogram('hubline.step.duration', 's', 'Duration of attempts at workflow steps', messagingSeconds),
    genAiDuration: histogram('gen_ai.client.operation.duration', 's', 'GenAI operation duration', genAiSeconds),
    tokens: histogram('gen_ai.client.token.usage', '{token}', 'Tokens of model calls', tokenCounts),
  };
}
