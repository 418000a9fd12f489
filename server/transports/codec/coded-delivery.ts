import { HubError } from '../../errors.js';
import { listen } from '../delivery.js';
import type { CommitResult, Delivery, Envelope, Outcome, RunWait } from '../transport.js';
import { type Codec, CodecError } from './codec.js';
import {
  decodeEntries,
  decodeEntry,
  decodeJson,
  encodeEnvelope,
  encodeJson,
  encodeOutcome,
  encodeWait,
} from './coded-values.js';

/** Delivery with decoded contents. If they cannot be decoded, the event fails with the error, and stays as it is. */
export class CodedDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly refusal: Error | undefined;
  readonly checkpoints: ReadonlyMap<string, string>;
  onRevoked: ((reason: Error) => void) | undefined;
  readonly #delivery: Delivery;
  readonly #codec: Codec;
  #onRecorded: Delivery['onRecorded'];

  constructor(delivery: Delivery, codec: Codec) {
    this.#delivery = delivery;
    this.#codec = codec;
    this.attempt = delivery.attempt;
    const { envelope, checkpoints, refusal } = decodeContents(delivery, codec);
    this.envelope = envelope;
    this.checkpoints = checkpoints;
    this.refusal = refusal;
    listen(delivery, (reason) => this.onRevoked?.(reason));
  }

  get onRecorded(): Delivery['onRecorded'] {
    return this.#onRecorded;
  }

  set onRecorded(listener: Delivery['onRecorded']) {
    this.#onRecorded = listener;
    this.#delivery.onRecorded = listener && ((key, value) => listener(key, decodeEntry(value, this.#codec)));
  }

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    return this.#delivery.commit(encodeOutcome(outcome, this.#codec), handlerEnd);
  }

  async checkpoint(key: string, value: string, emits?: readonly Envelope[]): Promise<CommitResult> {
    const encoded = emits?.map((envelope) => encodeEnvelope(envelope, this.#codec));
    return this.#delivery.checkpoint(key, encodeJson(value, this.#codec), encoded);
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    return this.#delivery.wait(waits.map((wait) => encodeWait(wait, this.#codec)));
  }
}

function decodeContents(delivery: Delivery, codec: Codec): Pick<Delivery, 'envelope' | 'checkpoints' | 'refusal'> {
  const { envelope, refusal } = delivery;
  const unreadable = { envelope: { ...envelope, body: 'null' }, checkpoints: new Map() };
  if (refusal !== undefined) return { ...unreadable, refusal };
  try {
    return {
      envelope: { ...envelope, body: decodeJson(envelope.body, codec) },
      checkpoints: decodeEntries(delivery.checkpoints, codec),
      refusal,
    };
  } catch (error) {
    return { ...unreadable, refusal: HubError.is(error) ? error : new CodecError('decode', error) };
  }
}
