import { randomUUID } from 'node:crypto';
import type { Envelope } from '../../delivery.js';
import { TickBatch } from '../../tick-batch.js';
import type { Receipt } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import type { DataEpoch } from '../connection/data-epoch.js';
import { readArray, readString } from '../connection/reply.js';
import { type ScriptArgument, scripts } from '../connection/script.js';
import { argumentBatches } from '../connection/script-limits.js';
import { emitArguments, unsubscribedReply } from '../jobs/event-codec.js';
import { eventIdOf } from '../names.js';

/** Envelopes of one call of `publish`, ready to be sent. */
interface PublishCall {
  readonly ids: readonly string[];
  readonly args: readonly ScriptArgument[];
}

/** Calls of `publish`, each accepted whole or not at all. */
export class PublishBatch {
  readonly #service: string;
  readonly #calls: TickBatch<PublishCall, readonly Receipt[]>;

  constructor(commands: CommandClient, service: string, epoch: DataEpoch, timeoutMs: number) {
    this.#service = service;
    this.#calls = new TickBatch<PublishCall, readonly Receipt[]>(argumentBatches, async (calls) => {
      const count = calls.reduce((sum, { ids }) => sum + ids.length, 0);
      // The token makes a repetition harmless if the reply is lost with the connection.
      const head = [randomUUID(), commands.repeatWithinMs];
      const args = [count, ...calls.flatMap((call) => call.args)];
      const reply = await epoch.whileKnown(timeoutMs, (epochId) =>
        commands.runRemembered(scripts.publish, [...head, epochId, ...args]),
      );
      const earlierIds = readArray(reply).map(readString).values();
      return calls.map(({ ids }) => ids.map((id) => receipt(id, earlierIds.next().value ?? '')));
    });
  }

  /** Rejects, without an effect on other calls, if a value of an envelope cannot be stored. */
  async publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    const args = envelopes.flatMap((envelope) => emitArguments(envelope, this.#service));
    return this.#calls.add({ ids: envelopes.map(({ id }) => id), args });
  }
}

function receipt(id: string, earlierId: string): Receipt {
  if (earlierId === unsubscribedReply) return { id, deduplicated: false, unsubscribed: true };
  return earlierId === '' ? { id, deduplicated: false } : { id: eventIdOf(earlierId), deduplicated: true };
}
