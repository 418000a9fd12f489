import type { CommitResult, Delivery, Envelope, Outcome } from '../transport.js';
import type { Codec } from './codec.js';

/** Returns the envelope with its payload encoded. */
export function encodeEnvelope(envelope: Envelope, codec: Codec): Envelope {
  return { ...envelope, body: codec.encode(envelope.body) };
}

/** Returns the outcome with its result and the payloads of its follow-ups encoded. */
export function encodeOutcome(outcome: Outcome, codec: Codec): Outcome {
  if (outcome.status === 'retry') return outcome;
  const followUps = outcome.followUps.map((envelope) => encodeEnvelope(envelope, codec));
  if (outcome.status === 'failed' || outcome.result === undefined) return { ...outcome, followUps };
  return { ...outcome, followUps, result: codec.encode(outcome.result) };
}

/** Returns the checkpoints with their values decoded. */
export function decodeCheckpoints(checkpoints: ReadonlyMap<string, string>, codec: Codec): ReadonlyMap<string, string> {
  return new Map([...checkpoints].map(([key, value]) => [key, codec.decode(value)]));
}

/** Delivery with decoded contents. If they cannot be decoded, the event fails with the error, and stays as it is. */
export class CodedDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly refusal: Error | undefined;
  readonly checkpoints: ReadonlyMap<string, string>;
  onRevoked: ((reason: Error) => void) | undefined;
  readonly #delivery: Delivery;
  readonly #codec: Codec;

  constructor(delivery: Delivery, codec: Codec) {
    this.#delivery = delivery;
    this.#codec = codec;
    this.attempt = delivery.attempt;
    const { envelope, checkpoints, refusal } = decodeContents(delivery, codec);
    this.envelope = envelope;
    this.checkpoints = checkpoints;
    this.refusal = refusal;
    delivery.onRevoked = (reason) => this.onRevoked?.(reason);
  }

  async commit(outcome: Outcome): Promise<CommitResult> {
    return this.#delivery.commit(encodeOutcome(outcome, this.#codec));
  }

  async checkpoint(key: string, value: string): Promise<CommitResult> {
    return this.#delivery.checkpoint(key, this.#codec.encode(value));
  }
}

function decodeContents(delivery: Delivery, codec: Codec): Pick<Delivery, 'envelope' | 'checkpoints' | 'refusal'> {
  const { envelope, refusal } = delivery;
  const unreadable = { envelope: { ...envelope, body: 'null' }, checkpoints: new Map() };
  if (refusal !== undefined) return { ...unreadable, refusal };
  try {
    return {
      envelope: { ...envelope, body: codec.decode(envelope.body) },
      checkpoints: decodeCheckpoints(delivery.checkpoints, codec),
      refusal,
    };
  } catch (error) {
    // `resolveCodec` wraps everything that is thrown.
    return { ...unreadable, refusal: error as Error };
  }
}
