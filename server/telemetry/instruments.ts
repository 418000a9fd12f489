import type { Counter, Histogram, Meter, MeterProvider, ObservableGauge } from '@opentelemetry/api';
import { version } from '../version.js';
import type { OpenTelemetryApi } from './open-telemetry.js';

/** What is measured, in the units and with the buckets of the semantic conventions where these have a name for it. */
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

const made = new WeakMap<MeterProvider, Instruments>();

/** The instruments of the application's meter provider, made once. */
export function instruments({ metrics }: OpenTelemetryApi): Instruments {
  const provider = metrics.getMeterProvider();
  let found = made.get(provider);
  if (found === undefined) {
    found = makeInstruments(provider.getMeter('hubline', version));
    made.set(provider, found);
  }
  return found;
}

function makeInstruments(meter: Meter): Instruments {
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { unit, description });
  const gauge = (name: string, description: string): ObservableGauge =>
    meter.createObservableGauge(name, { unit: '{event}', description });
  const histogram = (name: string, unit: string, description: string, buckets: number[]): Histogram =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: buckets } });
  return {
    meter,
    sent: counter('messaging.client.sent.messages', '{message}', 'Events sent, follow-ups included'),
    consumed: counter('messaging.client.consumed.messages', '{message}', 'Attempts begun'),
    completed: counter('hubline.events.completed', '{event}', 'Events that completed'),
    failed: counter('hubline.events.failed', '{event}', 'Events that failed for good'),
    retried: counter('hubline.events.retried', '{event}', 'Attempts that failed and are made again'),
    pending: gauge('hubline.events.pending', 'Events of the service that were accepted and have not ended'),
    active: gauge('hubline.events.active', 'Events of the service that are being handled'),
    sendDuration: histogram('messaging.client.operation.duration', 's', 'Duration of sending', messagingSeconds),
    processDuration: histogram('messaging.process.duration', 's', 'Duration of attempts', messagingSeconds),
    stepDuration: histogram('hubline.step.duration', 's', 'Duration of attempts at workflow steps', messagingSeconds),
    genAiDuration: histogram('gen_ai.client.operation.duration', 's', 'GenAI operation duration', genAiSeconds),
    tokens: histogram('gen_ai.client.token.usage', '{token}', 'Tokens of model calls', tokenCounts),
  };
}
