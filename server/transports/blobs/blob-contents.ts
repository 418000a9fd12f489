import type { Codec } from '../codec.js';
import { type Envelope, type Outcome, type RunWait, sizeOf } from '../delivery.js';
import { BackpressureError } from '../errors.js';
import type { BlobIndex } from './blob-index.js';
import {
  type BlobStore,
  BlobStoreError,
  MissingBlobError,
  newBlobName,
  referencesIn,
  replaceReferences,
  toReference,
} from './blob-store.js';

/** Request and type of the event or run that stores a content. */
export type ContentOwner = Pick<Envelope, 'requestId' | 'type'>;

/** Maximum size of the contents that are being stored at one time, per hub. */
const maxStoringBytes = 268_435_456;
const outputKey = ',"output":';

/** Moves contents that are large to a blob store, and reads them back. The codec of the transport encodes them. */
export class BlobContents {
  readonly index: BlobIndex;
  readonly #store: BlobStore;
  readonly #codec: Codec | undefined;
  readonly #aboveBytes: number;
  #storingBytes = 0;

  constructor(store: BlobStore, aboveBytes: number, index: BlobIndex, codec: Codec | undefined) {
    this.#store = store;
    this.#aboveBytes = aboveBytes;
    this.index = index;
    this.#codec = codec;
  }

  /** The content is stored as a reference. */
  isLarge(json: string): boolean {
    // One UTF-16 code unit is at most three bytes of UTF-8.
    return json.length * 3 > this.#aboveBytes && Buffer.byteLength(json) > this.#aboveBytes;
  }

  /** The payload of the envelope, or an entry that it has from its acceptance on, is stored as a reference. */
  hasLarge(envelope: Envelope): boolean {
    return sizeOf(envelope) > this.#aboveBytes || envelope.recorded?.some(([, value]) => this.isLarge(value)) === true;
  }

  /** Stores a content and returns its reference; returns a content that is not large. */
  async store(json: string, { requestId, type }: ContentOwner): Promise<string> {
    if (!this.isLarge(json)) return json;
    const data = Buffer.from(this.#codec === undefined ? json : this.#codec.encode(json));
    // One that is larger than the bound is stored alone.
    if (this.#storingBytes > 0 && this.#storingBytes + data.length > maxStoringBytes) {
      throw new BackpressureError('contents that are being stored', `${maxStoringBytes} bytes`);
    }
    this.#storingBytes += data.length;
    try {
      const name = await this.index.add(requestId, type, newBlobName);
      await attempt('put', name, () => this.#store.put(name, data));
      return toReference(name);
    } finally {
      this.#storingBytes -= data.length;
    }
  }

  /** Stores the output of an entry, so that the rest of it can be read without the blob store. */
  async storeEntry(value: string, owner: ContentOwner): Promise<string> {
    if (!this.isLarge(value)) return value;
    const start = value.indexOf(outputKey) + outputKey.length;
    if (start < outputKey.length || !value.endsWith('}')) return this.store(value, owner);
    return `${value.slice(0, start)}${await this.store(value.slice(start, -1), owner)}}`;
  }

  async storeEnvelope(envelope: Envelope): Promise<Envelope> {
    if (!this.hasLarge(envelope)) return envelope;
    const body = await this.store(envelope.body, envelope);
    const stored = envelope.recorded?.map(
      async ([key, value]) => [key, await this.storeEntry(value, envelope)] as const,
    );
    return { ...envelope, body, ...(stored && { recorded: await Promise.all(stored) }) };
  }

  async storeEnvelopes(envelopes: readonly Envelope[]): Promise<readonly Envelope[]> {
    return Promise.all(envelopes.map((envelope) => this.storeEnvelope(envelope)));
  }

  /** An outcome with a content that is large. */
  isLargeOutcome(outcome: Outcome): boolean {
    if (!('followUps' in outcome)) return false;
    const { followUps } = outcome;
    const isLarge = outcome.status === 'completed' && outcome.result !== undefined && this.isLarge(outcome.result);
    return isLarge || followUps.some((envelope) => this.hasLarge(envelope));
  }

  /** @param isRetained the transport retains a result */
  async storeOutcome(outcome: Outcome, owner: ContentOwner, isRetained: boolean): Promise<Outcome> {
    if (!('followUps' in outcome)) return outcome;
    const followUps = await this.storeEnvelopes(outcome.followUps);
    if (outcome.status === 'failed' || outcome.result === undefined) return { ...outcome, followUps };
    const { result, ...rest } = outcome;
    if (!isRetained && this.isLarge(result)) return { ...rest, followUps };
    return { ...rest, followUps, result: await this.store(result, owner) };
  }

  async storeWait({ run, onCancel, ...wait }: RunWait): Promise<RunWait> {
    return {
      ...wait,
      ...(run !== undefined && { run: await this.storeEnvelope(run) }),
      ...(onCancel !== undefined && { onCancel: await this.storeEnvelopes(onCancel) }),
    };
  }

  /**
   * Returns the values of all references in some contents.
   *
   * @throws {MissingBlobError | BlobStoreError | CodecError}
   */
  async read(contents: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const names = new Set(contents.flatMap((json) => referencesIn(json)));
    const values = new Map<string, string>();
    // One at a time: together they may be larger than the memory, and the caller needs all of them anyway.
    for (const name of names) {
      const data = await attempt('get', name, () => this.#store.get(name));
      if (data === undefined) throw new MissingBlobError(name);
      const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
      const value = this.#codec === undefined ? text : this.#codec.decode(text);
      // A follow-up may embed the payload of the event before it.
      values.set(name, referencesIn(value).length === 0 ? value : await this.load(value));
    }
    return values;
  }

  /** Returns a content with the values of its references. @throws as {@link read} */
  async load(json: string): Promise<string> {
    return referencesIn(json).length === 0 ? json : replaceReferences(json, await this.read([json]));
  }

  /** As {@link load}, but keeps references whose values cannot be read. */
  async show(json: string): Promise<string> {
    return this.load(json).catch(() => json);
  }

  /** Deletes a value. @throws {BlobStoreError} */
  async remove(name: string): Promise<void> {
    await attempt('delete', name, () => this.#store.delete(name));
  }
}

async function attempt<T>(operation: 'put' | 'get' | 'delete', name: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new BlobStoreError(operation, name, error);
  }
}
