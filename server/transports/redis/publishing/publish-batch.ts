import { randomUUID } from 'node:crypto';
import type { Envelope, Receipt } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { envelopeArguments } from './envelope-codec.js';
import { publishScript } from './publish-script.js';
import type { ScriptArgument } from '../scripts/script.js';
import { eventIdOf } from '../names.js';
import type { RedisSettings } from '../redis-options.js';
import { readArray, readString } from '../scripts/reply.js';
import { TickBatch } from './tick-batch.js';

// Calls sent together at most: a script holds up everything else while it runs.
const largestBatch = 250;

/** Publishes what is emitted in one turn of the event loop in one round trip, each call whole. */
export class Publisher {
  readonly #batch: TickBatch<readonly Envelope[], readonly Receipt[]>;
  readonly #client: CommandClient;
  readonly #service: string;
  readonly #settings: RedisSettings;

  constructor(client: CommandClient, service: string, settings: RedisSettings) {
    this.#client = client;
    this.#service = service;
    this.#settings = settings;
    this.#batch = new TickBatch(largestBatch, (calls) => this.#send(calls));
  }

  publish(envelopes: readonly Envelope[]): Promise<readonly Receipt[]> {
    return this.#batch.add(envelopes);
  }

  async #send(calls: readonly (readonly Envelope[])[]): Promise<readonly (readonly Receipt[])[]> {
    const envelopes = calls.flat();
    const { prefix, emitTimeoutMs } = this.#settings;
    // Where the answer is lost with the connection, the token keeps a second try from doubling anything.
    const args: ScriptArgument[] = [randomUUID(), 2 * emitTimeoutMs, envelopes.length];
    for (const envelope of envelopes) {
      const { dedupe } = envelope;
      args.push(...envelopeArguments(envelope, this.#service));
      args.push(dedupe === undefined ? '' : encodeURIComponent(dedupe.id), dedupe?.windowMs ?? 0);
    }
    const answer = await this.#client.run((client) => publishScript.run(client, prefix, args), {
      isRepeatable: true,
    });
    const receipts = readArray(answer).map(readString).values();
    return calls.map((call) =>
      call.map(({ id }) => {
        const earlier = receipts.next().value ?? '';
        return earlier === '' ? { id, deduplicated: false } : { id: eventIdOf(earlier), deduplicated: true };
      }),
    );
  }
}
