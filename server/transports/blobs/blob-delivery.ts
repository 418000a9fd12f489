import { HubError } from '../../errors.js';
import {
  type CommitResult,
  type Delivery,
  type Envelope,
  listen,
  type Offer,
  type Outcome,
  type RevokedCallback,
  type RunWait,
  type Verdict,
  workflowOf,
} from '../delivery.js';
import type { BlobContents } from './blob-contents.js';
import { BlobStoreError, NoBlobStoreError, referencesIn, replaceReferences } from './blob-store.js';

/** Delay after which a delivery is tried again whose contents could not be read or stored, in milliseconds. */
const retryDelayMs = 5_000;

/** Returns a reference in an event or its entries. */
function referenceIn({ envelope, checkpoints }: Delivery): string | undefined {
  // An envelope with a size is of this process, and has its payload.
  const [found] = envelope.size === undefined ? referencesIn(envelope.body) : [];
  if (found !== undefined) return found;
  for (const value of checkpoints.values()) {
    const [recorded] = referencesIn(value);
    if (recorded !== undefined) return recorded;
  }
  return undefined;
}

/** Returns a delivery that a hub without a blob store can handle: one with a reference is refused. */
export function refuseReferences(delivery: Delivery): Delivery {
  const blob = referenceIn(delivery);
  // The waits of a run may resolve with a reference.
  if (blob === undefined && workflowOf(delivery.envelope.type) === undefined) return delivery;
  const refusal = blob === undefined ? undefined : new NoBlobStoreError(blob);
  return new BlobDelivery(delivery, undefined, { isRetained: false, onFailure: () => {} }, refusal);
}

/** Facts about the connection of a delivery. */
export interface BlobDeliverySettings {
  /** The transport retains the result. */
  readonly isRetained: boolean;
  /** Receives an error of the blob store after which the delivery was released. */
  readonly onFailure: (error: unknown, delivery: Delivery) => void;
}

/** Delivery whose large contents are in a blob store. */
export class BlobDelivery implements Delivery {
  onRevoked: RevokedCallback | undefined;
  onOffered: Delivery['onOffered'];
  readonly #delivery: Delivery;
  readonly #contents: BlobContents | undefined;
  readonly #settings: BlobDeliverySettings;
  #refusal: Error | undefined;
  #envelope: Envelope;
  #loaded: Map<string, string> | undefined;
  #onRecorded: Delivery['onRecorded'];
  /** Values that this delivery records, by the reference that stands for them. */
  readonly #own = new Map<string, string>();
  /** Payloads of offers by their reference. */
  readonly #offered = new Map<string, string>();
  /** Offers whose payload is being read, by its reference. */
  readonly #reading = new Map<string, Promise<void>>();
  /** Entries whose contents are being read, and those after them. */
  #behind: Promise<void> | undefined;
  #isOver = false;
  #hadListener = false;

  constructor(delivery: Delivery, contents: BlobContents | undefined, settings: BlobDeliverySettings, refusal?: Error) {
    this.#delivery = delivery;
    this.#contents = contents;
    this.#settings = settings;
    this.#envelope = delivery.envelope;
    this.#refusal = delivery.refusal;
    if (refusal !== undefined) this.#refuse(refusal);
    listen(
      delivery,
      (reason) => {
        this.#isOver = true;
        return this.onRevoked?.(reason);
      },
      (key, value) => this.#record(key, value),
      () => {
        const reading = this.#readOffers();
        if (reading === undefined) this.onOffered?.();
        else void reading.then(() => this.onOffered?.());
      },
    );
  }

  /** Reads the contents. Resolves with `false` if the delivery is over: the lease has ended, or the event was released. */
  async open(): Promise<boolean> {
    const { envelope, checkpoints } = this.#delivery;
    try {
      const values = await this.#read([envelope.body, ...checkpoints.values()]);
      this.#envelope = { ...envelope, body: replaceReferences(envelope.body, values) };
      const loaded = [...checkpoints].map(([key, value]) => [key, replaceReferences(value, values)] as const);
      this.#loaded = new Map([...loaded, ...(this.#loaded ?? [])]);
      await this.#readOffers();
      await this.#behind;
    } catch (error) {
      if (!isTransient(error)) this.#refuse(error instanceof Error ? error : new Error('unreadable'));
      else await this.#release(error);
    }
    return !this.#isOver;
  }

  get isOpen(): boolean {
    if (this.#refusal !== undefined) return true;
    return referenceIn(this.#delivery) === undefined && this.#unreadOffers().length === 0;
  }

  get envelope(): Envelope {
    return this.#envelope;
  }

  get attempt(): number {
    return this.#delivery.attempt;
  }

  get refusal(): Error | undefined {
    return this.#refusal;
  }

  get checkpoints(): ReadonlyMap<string, string> {
    return this.#loaded ?? this.#delivery.checkpoints;
  }

  get isAdmitted(): boolean {
    return this.#delivery.isAdmitted;
  }

  admit(): CommitResult | Promise<CommitResult> {
    return this.#delivery.admit();
  }

  get onRecorded(): Delivery['onRecorded'] {
    return this.#onRecorded;
  }

  set onRecorded(listener: Delivery['onRecorded']) {
    this.#onRecorded = listener;
    this.#hadListener = true;
  }

  /** Offers whose payload is being read follow, with a call of `onOffered`. */
  get offers(): Delivery['offers'] {
    const { offers } = this.#delivery;
    if (offers.every(({ body }) => referencesIn(body).length === 0)) return offers;
    return offers.flatMap((offer) => {
      const [reference] = referencesIn(offer.body);
      if (reference === undefined) return [offer];
      const body = this.#offered.get(reference);
      return body === undefined ? [] : [{ ...offer, body }];
    });
  }

  decide(offer: Offer, verdict: Verdict): CommitResult | Promise<CommitResult> {
    return this.#withOffers(this.#delivery.decide(offer, verdict));
  }

  /** Returns a result when the payloads of the offers that follow it have been read. */
  #withOffers(result: CommitResult | Promise<CommitResult>): CommitResult | Promise<CommitResult> {
    if (result instanceof Promise) return result.then((recorded) => this.#withOffers(recorded));
    const reading = this.#readOffers();
    return reading === undefined ? result : reading.then(() => result);
  }

  commit(outcome: Outcome, handlerEnd?: Promise<void>): CommitResult | Promise<CommitResult> {
    if (this.#contents?.isLargeOutcome(outcome) !== true) return this.#delivery.commit(outcome, handlerEnd);
    return this.#storeThen(async (contents) => {
      const stored = await contents.storeOutcome(outcome, this.#envelope, this.#settings.isRetained);
      return this.#delivery.commit(stored, handlerEnd);
    });
  }

  checkpoint(key: string, value: string, emits: readonly Envelope[] = []): CommitResult | Promise<CommitResult> {
    const contents = this.#contents;
    const isLarge = contents?.isLarge(value) === true || emits.some((envelope) => contents?.hasLarge(envelope));
    if (!isLarge) return this.#afterEntries(this.#delivery.checkpoint(key, value, emits));
    return this.#storeThen(async (store) => {
      const { stored, envelopes } = await this.#storeRecord(store, value, emits);
      return this.#afterEntries(this.#delivery.checkpoint(key, stored, envelopes));
    });
  }

  get transact(): Delivery['transact'] {
    const { transact } = this.#delivery;
    const contents = this.#contents;
    if (transact === undefined || contents === undefined) return transact;
    return (work, settings) =>
      transact(async (client) => {
        const record = await work(client);
        if ('outcome' in record) {
          const outcome = await contents.storeOutcome(record.outcome, this.#envelope, this.#settings.isRetained);
          // An outcome keeps its status.
          return { ...record, outcome: outcome as typeof record.outcome };
        }
        const { stored, envelopes } = await this.#storeRecord(contents, record.value, record.emits);
        return { key: record.key, value: stored, emits: envelopes };
      }, settings);
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    const contents = this.#contents;
    if (contents === undefined) return this.#delivery.wait(waits);
    await contents.index.share(waits.flatMap(({ event }) => (event === undefined ? [] : [event.type])));
    return this.#delivery.wait(await Promise.all(waits.map((wait) => contents.storeWait(wait))));
  }

  async #storeRecord(contents: BlobContents, value: string, emits: readonly Envelope[]) {
    const [stored, envelopes] = await Promise.all([
      contents.storeEntry(value, this.#envelope),
      contents.storeEnvelopes(emits),
    ]);
    const [reference] = stored === value ? [] : referencesIn(stored);
    if (reference !== undefined) this.#own.set(reference, value);
    return { stored, envelopes };
  }

  /** Stores and records something. If it cannot be stored, the event runs again later. */
  async #storeThen(record: (contents: BlobContents) => Promise<CommitResult>): Promise<CommitResult> {
    const contents = this.#contents;
    if (contents === undefined) return 'fenced';
    try {
      return await record(contents);
    } catch (error) {
      if (!isTransient(error)) throw error;
      await this.#release(error);
      return 'fenced';
    }
  }

  /** Returns a result when the entries before it have been passed on. */
  #afterEntries(result: CommitResult | Promise<CommitResult>): CommitResult | Promise<CommitResult> {
    if (result instanceof Promise) return result.then((recorded) => this.#afterEntries(recorded));
    return this.#behind === undefined ? result : this.#behind.then(() => result);
  }

  #record(key: string, value: string): void {
    const [reference] = referencesIn(value);
    const own = reference === undefined ? undefined : this.#own.get(reference);
    if (reference !== undefined) this.#own.delete(reference);
    if (this.#behind === undefined && (reference === undefined || own !== undefined)) {
      this.#pass(key, own ?? value);
      return;
    }
    const before = this.#behind;
    const passing = (async () => {
      await before;
      if (this.#isOver) return;
      const text = own ?? replaceReferences(value, await this.#read([value]));
      this.#pass(key, text);
    })()
      // The run is read again from its records: there a value that is missing fails it.
      .catch((error: unknown) => this.#release(error))
      .finally(() => {
        if (this.#behind === passing) this.#behind = undefined;
      });
    this.#behind = passing;
  }

  #pass(key: string, value: string): void {
    if (this.#isOver) return;
    this.#onRecorded?.(key, value);
    // The engine reads an entry that is recorded before it listens.
    if (!this.#hadListener) this.#loaded = new Map([...(this.#loaded ?? []), [key, value]]);
  }

  #unreadOffers(): readonly Offer[] {
    return this.#delivery.offers.filter(({ body }) => {
      const [reference] = referencesIn(body);
      return reference !== undefined && !this.#offered.has(reference);
    });
  }

  /** Reads the payloads of the offers. The promise never rejects; `undefined` if all are read. */
  #readOffers(): Promise<void> | undefined {
    const unread = this.#unreadOffers();
    if (unread.length === 0) return undefined;
    const readings = unread.map(({ body }) => {
      const [reference = ''] = referencesIn(body);
      const reading = this.#reading.get(reference) ?? this.#readOffer(reference, body);
      this.#reading.set(reference, reading);
      return reading;
    });
    return Promise.all(readings).then(() => {});
  }

  async #readOffer(reference: string, body: string): Promise<void> {
    try {
      this.#offered.set(reference, replaceReferences(body, await this.#read([body])));
    } catch (error) {
      if (isTransient(error)) {
        await this.#release(error);
        return;
      }
      // Not JSON: a condition cannot read it.
      this.#offered.set(reference, '');
      this.#settings.onFailure(error, this.#delivery);
    }
    this.#reading.delete(reference);
  }

  async #read(jsons: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const contents = this.#contents;
    if (contents !== undefined) return contents.read(jsons);
    const [blob] = jsons.flatMap((json) => referencesIn(json));
    if (blob !== undefined) throw new NoBlobStoreError(blob);
    return new Map();
  }

  /** Fails the event with an error. Its stored contents stay as they are. */
  #refuse(refusal: Error): void {
    this.#refusal = refusal;
    this.#envelope = { ...this.#delivery.envelope, body: 'null' };
    this.#loaded = new Map();
  }

  async #release(error: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settings.onFailure(error, this.#delivery);
    const reason = error instanceof Error ? error : new Error('unreadable');
    const unfinished = this.onRevoked?.(reason);
    const outcome = { status: 'released', durationMs: 0, delayMs: retryDelayMs } as const;
    // If it fails, the lease has ended, which releases the event too.
    await (async () => this.#delivery.commit(outcome, unfinished))().catch(() => {});
  }
}

/** The store may have the value when it is asked again. */
function isTransient(error: unknown): boolean {
  return error instanceof BlobStoreError || !HubError.is(error);
}
