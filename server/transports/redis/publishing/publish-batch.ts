import { randomUUID } from 'node:crypto';
import type { Envelope, Receipt } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { TickBatch } from '../connection/tick-batch.js';
import { eventIdOf } from '../names.js';
import { maxBatch } from '../scripts/limits.js';
import { readArray, readString } from '../scripts/reply.js';
import type { ScriptArgument } from '../scripts/script.js';
import { envelopeArguments } from './envelope-codec.js';
import { publishScript } from './publish-script.js';

/** Calls of `publish`, each accepted whole or not at all. */
export type PublishBatch = TickBatch<readonly Envelope[], readonly Receipt[]>;

/** Returns a batch whose items are the envelopes of one call of `publish`. */
export function publishBatch(commands: CommandClient, service: string): PublishBatch {
  return new TickBatch(maxBatch, async (calls) => {
    const envelopes = calls.flat();
    // The token makes a repetition harmless if the reply is lost with the connection.
    const args: ScriptArgument[] = [randomUUID(), commands.repeatWithinMs, envelopes.length];
    for (const envelope of envelopes) {
      const { dedupe } = envelope;
      args.push(...envelopeArguments(envelope, service));
      args.push(dedupe === undefined ? '' : encodeURIComponent(dedupe.id), dedupe?.windowMs ?? 0);
    }
    const earlierIds = readArray(await commands.runScript(publishScript, args))
      .map(readString)
      .values();
    return calls.map((call) => call.map(({ id }) => receipt(id, earlierIds.next().value ?? '')));
  });
}

function receipt(id: string, earlierId: string): Receipt {
  if (earlierId === '-') return { id, deduplicated: false, unsubscribed: true };
  return earlierId === '' ? { id, deduplicated: false } : { id: eventIdOf(earlierId), deduplicated: true };
}
