import { HubError } from '../errors.js';
import type { OptionChecker } from '../options.js';
import { publicErrorInfo } from '../redaction.js';
import { type BoundedLog, CheckedLog, type LogStorage } from './bounded-log.js';
import type { Clock } from './clock.js';
import {
  type CommitResult,
  type Delivery,
  type Envelope,
  type FailedOutcome,
  listen,
  type Outcome,
  type RunWait,
} from './delivery.js';
import type { EventRecord, RunRecord } from './event-record.js';
import { CheckedKeyValueStore, type KeyValueStore } from './key-values.js';
import type {
  CloseResult,
  ConsumeOptions,
  CountReader,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  Receipt,
  RunStore,
  ScheduleStore,
  TransportManager,
} from './transport.js';

/**
 * Encodes what a transport stores, for example with a cipher: payloads, results, checkpoints, and the values of the
 * key-value store, conversations included. Ids, types, request ids, keys, counts and error messages are not encoded.
 *
 * To rotate a key, write its id into the text and let `decode` choose the key by it.
 */
export interface Codec {
  /** Returns the text to store. The same input may have different results. */
  encode(text: string): string;
  /** Returns the text that was encoded. Throws if it cannot. */
  decode(text: string): string;
}

/** The codec of a transport threw. The stored text is unchanged: a dead letter can be replayed with the right codec. */
export class CodecError extends HubError {
  constructor(operation: 'encode' | 'decode', cause: unknown) {
    super(
      'ERR_CODEC',
      `codec.${operation} threw ${publicErrorInfo(cause).name}; check that this process has the keys of all stored data`,
      { cause },
    );
  }
}

/** Checks the `codec` option of a transport and returns a codec that throws {@link CodecError} only. */
export function resolveCodec(codec: Codec | undefined, check: OptionChecker): Codec | undefined {
  check.methods('codec', codec, ['encode', 'decode']);
  if (codec === undefined) return undefined;
  const guarded = (operation: 'encode' | 'decode', text: string): string => {
    try {
      const result: unknown = codec[operation](text);
      if (typeof result !== 'string') throw new TypeError(`codec.${operation} must return a string`);
      return result;
    } catch (cause) {
      throw new CodecError(operation, cause);
    }
  };
  return { encode: (text) => guarded('encode', text), decode: (text) => guarded('decode', text) };
}

/** Connection that encodes what another connection stores, and decodes what it reads. */
export class CodedTransport implements TransportManager {
  readonly name: string;
  readonly service: string;
  readonly clock: Clock;
  readonly counts: CountReader;
  readonly lookup: EventLookup;
  readonly deadLetters: DeadLetterStore;
  readonly runs: RunStore;
  readonly fleet: FleetReader;
  readonly schedules: ScheduleStore;
  readonly kv: KeyValueStore;
  readonly log: BoundedLog;
  readonly #inner: TransportManager;
  readonly #codec: Codec;

  constructor(inner: TransportManager, codec: Codec) {
    this.name = inner.name;
    this.service = inner.service;
    this.clock = inner.clock;
    this.counts = inner.counts;
    this.lookup = codedLookup(inner.lookup, codec);
    this.deadLetters = codedDeadLetters(inner.deadLetters, codec);
    this.runs = codedRuns(inner.runs, codec);
    this.fleet = inner.fleet;
    this.schedules = codedSchedules(inner.schedules, codec);
    // Checked before the encoding, so that every transport refuses the same values.
    this.kv = new CheckedKeyValueStore(new CodedKeyValueStore(inner.kv, codec));
    this.log = new CheckedLog(codedLog(inner.log, codec));
    this.#inner = inner;
    this.#codec = codec;
  }

  start(options: ConsumeOptions): Promise<void> {
    return this.#inner.start({
      ...options,
      onDelivery: (delivery) => options.onDelivery(new CodedDelivery(delivery, this.#codec)),
    });
  }

  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    return this.#inner.publish(envelopes.map((envelope) => encodeEnvelope(envelope, this.#codec)));
  }

  close(options: { drainMs: number }): Promise<CloseResult> {
    return this.#inner.close(options);
  }
}

function codedLookup(inner: EventLookup, codec: Codec): EventLookup {
  const decode = (events: readonly EventRecord[]): EventRecord[] => events.map((event) => decodeEvent(event, codec));
  return {
    async recent(type) {
      const { newest, failed } = await inner.recent(type);
      return { newest: decode(newest), failed: decode(failed) };
    },
    find: async (id, options) => decode(await inner.find(id, options)),
    async request(requestId) {
      const { events, isTruncated } = await inner.request(requestId);
      return { events: decode(events), isTruncated };
    },
    async overview(query) {
      const overview = await inner.overview(query);
      return { ...overview, runs: overview.runs.map((runs) => runs.map((run) => decodeRun(run, codec))) };
    },
    erase: (requestId) => inner.erase(requestId),
  };
}

function codedDeadLetters(inner: DeadLetterStore, codec: Codec): DeadLetterStore {
  return {
    async list(type, limit, filter) {
      const records = await inner.list(type, limit, filter);
      return records.map((record) => ({ ...record, envelope: decodeEnvelope(record.envelope, codec) }));
    },
    replay: (id) => inner.replay(id),
  };
}

function codedRuns(inner: RunStore, codec: Codec): RunStore {
  const decode = (run: RunRecord | undefined): RunRecord | undefined => run && decodeRun(run, codec);
  return {
    get: async (type, id, service) => decode(await inner.get(type, id, service)),
    getSince: async (type, id, from, service) => decode(await inner.getSince(type, id, from, service)),
    async waiting(types, limit) {
      return (await inner.waiting(types, limit)).map((runs) => runs.map((run) => decodeRun(run, codec)));
    },
    watch: (type, id, onChange, service) => inner.watch(type, id, onChange, service),
    ended: async (type, id, signal, service) => decode(await inner.ended(type, id, signal, service)),
    end: (type, id, outcome, reason, service) => inner.end(type, id, encodeOutcome(outcome, codec), reason, service),
    cancel: (id, conclude) =>
      inner.cancel(id, (envelope) => encodeOutcome(conclude(decodeEnvelope(envelope, codec)), codec)),
  };
}

function codedSchedules(inner: ScheduleStore, codec: Codec): ScheduleStore {
  return {
    list: () => inner.list(),
    open: (openings) => inner.open(openings),
    claim: async (claim) =>
      inner.claim({ ...claim, events: claim.events.map((event) => encodeEnvelope(event, codec)) }),
  };
}

/** Delivery with decoded contents. If they cannot be decoded, the event fails with the error, and stays as it is. */
class CodedDelivery implements Delivery {
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

// Counters of `increment` are stored as they are: the store adds to them.
const wholeNumber = /^-?\d{1,16}$/;

/** Store that encodes the values of another one. Keys and counters stay as they are. */
class CodedKeyValueStore implements KeyValueStore {
  readonly #store: KeyValueStore;
  readonly #codec: Codec;

  constructor(store: KeyValueStore, codec: Codec) {
    this.#store = store;
    this.#codec = codec;
  }

  async get(key: string): Promise<string | undefined> {
    const value = await this.#store.get(key);
    return value === undefined || wholeNumber.test(value) ? value : this.#codec.decode(value);
  }

  async set(key: string, value: string, options?: { ttlMs?: number; ifAbsent?: boolean }): Promise<boolean> {
    return this.#store.set(key, this.#codec.encode(value), options);
  }

  async compareAndSet(
    key: string,
    expected: string | undefined,
    value: string,
    options?: { ttlMs?: number },
  ): Promise<boolean> {
    // The codec may encode the expected value differently each time, so the stored text is compared.
    for (;;) {
      const stored = await this.#store.get(key);
      const known = stored === undefined || wholeNumber.test(stored) ? stored : this.#codec.decode(stored);
      if (known !== expected) return false;
      if (await this.#store.compareAndSet(key, stored, this.#codec.encode(value), options)) return true;
    }
  }

  delete(key: string): Promise<boolean> {
    return this.#store.delete(key);
  }

  increment(key: string, by?: number, ttlMs?: number): Promise<number> {
    return this.#store.increment(key, by, ttlMs);
  }

  async append(
    key: string,
    values: readonly string[],
    options?: { keepLast?: number; ttlMs?: number },
  ): Promise<number> {
    const encoded = values.map((value) => this.#codec.encode(value));
    return this.#store.append(key, encoded, options);
  }

  async range(key: string, from: number, to: number): Promise<string[]> {
    return (await this.#store.range(key, from, to)).map((value) => this.#codec.decode(value));
  }
}

/** Returns logs whose texts are encoded. Names are not. */
function codedLog(inner: BoundedLog, codec: Codec): LogStorage {
  return {
    async append(name, texts, bounds) {
      const encoded = texts.map((text) => codec.encode(text));
      // An entry that fits before it is encoded is not refused.
      const longest = encoded.reduce((bytes, text) => Math.max(bytes, Buffer.byteLength(text)), bounds.maxBytes);
      return inner.append(name, encoded, { ...bounds, maxBytes: longest });
    },
    async read(name, options) {
      const page = await inner.read(name, options);
      return { ...page, entries: page.entries.map((entry) => ({ ...entry, text: codec.decode(entry.text) })) };
    },
    delete: (name) => inner.delete(name),
  };
}

// Payloads and results stay JSON, because a transport embeds them in its own records: each becomes a string that holds the
// encoded text.

/** Encodes JSON. Returns JSON. */
function encodeJson(json: string, codec: Codec): string {
  return JSON.stringify(codec.encode(json));
}

/** Returns the JSON that {@link encodeJson} encoded. */
function decodeJson(json: string, codec: Codec): string {
  return codec.decode(JSON.parse(json));
}

/** Returns the envelope with its payload encoded. */
function encodeEnvelope(envelope: Envelope, codec: Codec): Envelope {
  return { ...envelope, body: encodeJson(envelope.body, codec) };
}

/** Returns the outcome with its result and the payloads of its follow-ups encoded. */
function encodeOutcome(outcome: FailedOutcome, codec: Codec): FailedOutcome;
function encodeOutcome(outcome: Outcome, codec: Codec): Outcome;
function encodeOutcome(outcome: Outcome, codec: Codec): Outcome {
  if (!('followUps' in outcome)) return outcome;
  const followUps = outcome.followUps.map((envelope) => encodeEnvelope(envelope, codec));
  if (outcome.status === 'failed' || outcome.result === undefined) return { ...outcome, followUps };
  return { ...outcome, followUps, result: encodeJson(outcome.result, codec) };
}

/** Returns the wait with the payloads of its events encoded. */
function encodeWait({ run, onCancel, ...wait }: RunWait, codec: Codec): RunWait {
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
function decodeEntry(value: string, codec: Codec): string {
  if (value.startsWith('"')) return decodeJson(value, codec);
  const resolution = Object(JSON.parse(value)) as Record<string, unknown>;
  const embedded = ['payload', 'result'].find((name) => typeof resolution[name] === 'string');
  if (embedded === undefined) return value;
  const decoded: unknown = JSON.parse(codec.decode(String(resolution[embedded])));
  return JSON.stringify({ ...resolution, [embedded]: decoded });
}

/** Returns all entries of a run decoded. */
function decodeEntries(entries: ReadonlyMap<string, string>, codec: Codec): ReadonlyMap<string, string> {
  return new Map([...entries].map(([key, value]) => [key, decodeEntry(value, codec)]));
}

/** An entry that cannot be decoded has an unreadable payload: it must not hide the entries beside it. */
function decodeEnvelope(envelope: Envelope, codec: Codec): Envelope {
  try {
    return { ...envelope, body: decodeJson(envelope.body, codec) };
  } catch {
    return { ...envelope, body: '' };
  }
}

function decodeEvent(event: EventRecord, codec: Codec): EventRecord {
  const { body, run } = event;
  return {
    ...event,
    body: body === undefined ? undefined : decodeBody(body, codec),
    run: run && decodeRun(run, codec),
  };
}

/** Returns `undefined` for a body that cannot be decoded. */
function decodeBody(body: string, codec: Codec): string | undefined {
  try {
    return decodeJson(body, codec);
  } catch {
    return undefined;
  }
}

function decodeRun(run: RunRecord, codec: Codec): RunRecord {
  const envelope = decodeEnvelope(run.envelope, codec);
  try {
    const result = run.result === undefined ? undefined : decodeJson(run.result, codec);
    return { ...run, envelope, result, checkpoints: decodeEntries(run.checkpoints, codec) };
  } catch {
    return { ...run, envelope, result: undefined, checkpoints: new Map() };
  }
}
