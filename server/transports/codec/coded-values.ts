import type { Envelope, FailedOutcome, Outcome, RunWait } from '../transport.js';
import type { Codec } from './codec.js';

/**
 * Encodings of the values that pass through a transport. Payloads and results stay JSON, because a transport embeds them
 * in its own records: each becomes a string that holds the encoded text.
 *
 * @module
 */

/** Encodes JSON. Returns JSON. */
export function encodeJson(json: string, codec: Codec): string {
  return JSON.stringify(codec.encode(json));
}

/** Returns the JSON that {@link encodeJson} encoded. */
export function decodeJson(json: string, codec: Codec): string {
  return codec.decode(JSON.parse(json));
}

/** Returns the envelope with its payload encoded. */
export function encodeEnvelope(envelope: Envelope, codec: Codec): Envelope {
  return { ...envelope, body: encodeJson(envelope.body, codec) };
}

/** Returns the outcome with its result and the payloads of its follow-ups encoded. */
export function encodeOutcome(outcome: FailedOutcome, codec: Codec): FailedOutcome;
export function encodeOutcome(outcome: Outcome, codec: Codec): Outcome;
export function encodeOutcome(outcome: Outcome, codec: Codec): Outcome {
  if (!('followUps' in outcome)) return outcome;
  const followUps = outcome.followUps.map((envelope) => encodeEnvelope(envelope, codec));
  if (outcome.status === 'failed' || outcome.result === undefined) return { ...outcome, followUps };
  return { ...outcome, followUps, result: encodeJson(outcome.result, codec) };
}

/** Returns the wait with the payloads of its events encoded. */
export function encodeWait({ run, onCancel, ...wait }: RunWait, codec: Codec): RunWait {
  return {
    ...wait,
    ...(run !== undefined && { run: encodeEnvelope(run, codec) }),
    ...(onCancel !== undefined && { onCancel: onCancel.map((envelope) => encodeEnvelope(envelope, codec)) }),
  };
}

/**
 * Returns an entry of a run decoded. The engine's entries are encoded as a whole. The transport writes resolutions of
 * waits itself, as an object that embeds an encoded payload or result.
 */
export function decodeEntry(value: string, codec: Codec): string {
  if (value.startsWith('"')) return decodeJson(value, codec);
  const resolution = Object(JSON.parse(value)) as Record<string, unknown>;
  const embedded = ['payload', 'result'].find((name) => typeof resolution[name] === 'string');
  if (embedded === undefined) return value;
  const decoded: unknown = JSON.parse(codec.decode(String(resolution[embedded])));
  return JSON.stringify({ ...resolution, [embedded]: decoded });
}

/** Returns all entries of a run decoded. */
export function decodeEntries(entries: ReadonlyMap<string, string>, codec: Codec): ReadonlyMap<string, string> {
  return new Map([...entries].map(([key, value]) => [key, decodeEntry(value, codec)]));
}
