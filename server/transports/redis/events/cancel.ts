import type { Envelope, FailedOutcome } from '../../delivery.js';
import { errorOf } from '../../errors.js';
import type { CommandClient } from '../connection/command-client.js';
import { readArray, readNumber, readString } from '../connection/reply.js';
import { scripts } from '../connection/script.js';
import { decodeEnvelope, outcomeArguments } from '../jobs/event-codec.js';
import { encodeName, jobIdOf, typeOf } from '../names.js';
import type { RedisSettings } from '../redis-options.js';
import { encodeReason } from '../runs/run-ends.js';

/** Parts of a connection that {@link cancel} uses. */
export interface CancelParts {
  readonly service: string;
  readonly commands: CommandClient;
  readonly settings: RedisSettings;
}

/** Ends an event of a service; `false` if there is none with this id to cancel. */
export async function cancel(
  { service, commands, settings }: CancelParts,
  id: string,
  conclude: (envelope: Envelope) => FailedOutcome,
): Promise<boolean> {
  const jobId = jobIdOf(id);
  // Repeated if the event has changed in between, such as by an event that replaced its payload.
  for (;;) {
    const found = await commands.runScript(scripts.findCancellable, [encodeName(service), jobId]);
    if (found === null) return false;
    const [queue = '', serviceType = '', data = ''] = readArray(found).map(readString);
    const outcome = conclude(decodeEnvelope(jobId, typeOf(serviceType), JSON.parse(data)));
    const reason = encodeReason(errorOf(outcome.error));
    const args = [queue, jobId, serviceType, data, reason, ...outcomeArguments(outcome, 1, service)];
    // Not repeated after a lost reply: a repetition would report that there is no such event.
    const reply = await commands.run((client) => scripts.cancel.run(client, settings.prefix, args));
    if (readNumber(reply) === 1) return true;
  }
}
