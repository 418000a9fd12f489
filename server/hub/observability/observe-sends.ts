import type { Context } from '@opentelemetry/api';
import { instruments } from '../../telemetry/instruments.js';
import { type OpenTelemetryApi, openTelemetry } from '../../telemetry/open-telemetry.js';
import { Operation, type OperationDetails } from '../../telemetry/operation.js';
import type { Envelope } from '../../transports/transport.js';
import { destinationName, telemetryAttributes } from './telemetry-attributes.js';

type Publish<T> = (envelopes: readonly Envelope[]) => T | Promise<T>;

/** Options of {@link observeSends}. */
interface SendOptions<T> {
  /**
   * Returns `true` if the result of `publish` means that the envelopes were accepted; otherwise their spans are
   * discarded.
   * @default all are accepted
   */
  readonly areSent?: (result: T) => boolean;
  /** Context of the causing span. @default the active context, or else the trace in the envelope */
  readonly cause?: Context;
  readonly errorInfo?: OperationDetails['errorInfo'];
}

/**
 * Publishes envelopes with one span per envelope. Each published envelope carries the trace context of its span.
 * Without an SDK of OpenTelemetry, returns what `publish` returns.
 */
export function observeSends<T>(
  envelopes: readonly Envelope[],
  publish: Publish<T>,
  options: SendOptions<T> = {},
): T | Promise<T> {
  const api = openTelemetry();
  if (api === undefined) return publish(envelopes);
  const { areSent = () => true } = options;
  const sends = envelopes.map((envelope) => startSend(api, envelope, options));
  return publishAs(api, sends, envelopes, publish, areSent);
}

async function publishAs<T>(
  api: OpenTelemetryApi,
  sends: readonly (Operation | undefined)[],
  envelopes: readonly Envelope[],
  publish: Publish<T>,
  areSent: (result: T) => boolean,
): Promise<T> {
  try {
    const result = await publish(envelopes.map((envelope, index) => withTrace(envelope, sends[index]?.carrier())));
    if (areSent(result)) end(api, sends);
    return result;
  } catch (error) {
    for (const send of sends) send?.fail(error);
    end(api, sends);
    throw error;
  }
}

function withTrace(envelope: Envelope, trace: Envelope['trace']): Envelope {
  return trace === undefined ? envelope : { ...envelope, body: envelope.body, trace };
}

function end(api: OpenTelemetryApi, sends: readonly (Operation | undefined)[]): void {
  const { sent } = instruments(api);
  for (const send of sends) {
    send?.end();
    if (send !== undefined) sent.add(1, send.dimensions, send.context);
  }
}

function startSend<T>(
  api: OpenTelemetryApi,
  envelope: Envelope,
  { cause, errorInfo }: SendOptions<T>,
): Operation | undefined {
  const { id, type, requestId } = envelope;
  return Operation.start(api, {
    name: `send ${destinationName(type)}`,
    kind: api.SpanKind.PRODUCER,
    dimensions: {
      ...telemetryAttributes(type),
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
    },
    attributes: { 'messaging.message.id': id, 'messaging.message.conversation_id': requestId },
    parent: cause ?? parentOf(api, envelope),
    histogram: instruments(api).sendDuration,
    ...(errorInfo && { errorInfo }),
  });
}

/** Returns the active context, or the trace of the causing event if a handler emits outside of its context. */
function parentOf(api: OpenTelemetryApi, { trace }: Envelope): Context {
  const active = api.context.active();
  if (trace === undefined || api.trace.getSpanContext(active) !== undefined) return active;
  return api.propagation.extract(active, trace);
}
