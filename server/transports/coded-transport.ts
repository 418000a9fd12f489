import { HubError } from '../errors.js';
import { type BoundedLog, CheckedLog } from './bounded-log.js';
import type { Clock } from './clock.js';
import { type Codec, CodecError, CodecMismatchError } from './codec.js';
import { CodedKeyValueStore, codedLog } from './coded-values.js';
import {
  type AwaitedEvent,
  type CommitResult,
  type CompletedOutcome,
  type CompleteEnvelope,
  type Delivery,
  type Envelope,
  type FailedOutcome,
  listen,
  type Offer,
  type Outcome,
  type RevokedCallback,
  type RunWait,
  type Verdict,
} from './delivery.js';
import type { EventRecord, OpenWait, RunRecord } from './event-record.js';
import { CheckedKeyValueStore, type KeyValueStore } from './key-values.js';
import { type CallEffect, callPart, forwardParts } from './parts.js';
import { claimPlainKeys, hasHashedKeys, isHashedKey, isPlainKey, type KeyedCodec, KeyHashes } from './stored-keys.js';
import type {
  CloseResult,
  ConsumeOptions,
  CountReader,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  PausedTypes,
  Receipt,
  RunStore,
  ScheduleStore,
  StoredSchedule,
  TransportManager,
} from './transport.js';

/**
 * Connects with the codec of a transport, or without one. A store whose keys are hashed refuses what would store plain
 * ones, and the other way around: at the start of a process with handlers, else at its first write.
 *
 * @param records store of the record that says which of them it is
 * @throws {CodecMismatchError}
 */
export function connectCoded(
  inner: TransportManager,
  codec: Codec | undefined,
  records: KeyValueStore = inner.kv,
): TransportManager {
  return codec === undefined ? plainConnection(inner, records) : new CodedTransport(inner, codec, records);
}

/** Connection without a codec: it stores no plain keys beside hashed ones. */
function plainConnection(inner: TransportManager, records: KeyValueStore): TransportManager {
  let isHashed: boolean | undefined;
  let claiming: Promise<boolean> | undefined;
  const claim = async (): Promise<boolean> => {
    claiming ??= claimPlainKeys(records).finally(() => {
      claiming = undefined;
    });
    isHashed = await claiming;
    return isHashed;
  };
  const requirePlain = async (effect: CallEffect): Promise<void> => {
    isHashed ??= effect === 'read' ? await hasHashedKeys(records) : await claim();
    if (isHashed) throw new CodecMismatchError(true);
  };
  const { kv, log, schedules } = forwardParts(async (call, args) => {
    const isList = call.part === 'schedules' && call.effect === 'read';
    if (!isList && !isPlainKey(call.part, args[0])) await requirePlain(call.effect);
    return callPart(inner, call, args);
  });
  const { name, service, clock, counts, lookup, deadLetters, runs, fleet } = inner;
  const within = inner.publishWithin;
  return {
    ...{ name, service, clock, counts, lookup, deadLetters, runs, fleet, schedules, kv, log },
    start(options) {
      // Without handlers it may be a reader, which does not decide how keys are stored.
      if (options.subscriptions.length === 0) return inner.start(options);
      const onRegister = async (): Promise<void> => {
        if (await claim()) throw new CodecMismatchError(true);
        await options.onRegister?.();
      };
      return inner.start({ ...options, onRegister });
    },
    get nextTurn() {
      return inner.nextTurn;
    },
    publish(envelopes) {
      if (isHashed === false) return inner.publish(envelopes);
      return publishUnlessHashed(inner, envelopes, isHashed ?? claim());
    },
    publishWithin:
      within &&
      (async (tx, envelopes) => {
        await requirePlain('change');
        await within(tx, envelopes);
      }),
    pause: (paused) => inner.pause(paused),
    close: (options) => inner.close(options),
  };
}

/** Publishes events. If keys are hashed, only those that answer a wait by its stored key. */
async function publishUnlessHashed(
  inner: TransportManager,
  envelopes: readonly Envelope[],
  isHashed: boolean | Promise<boolean>,
): Promise<readonly Receipt[]> {
  // A fork has the stored key too.
  const isAnswer = ({ key, dedupe, recorded }: Envelope): boolean =>
    recorded === undefined && dedupe === undefined && isHashedKey(key);
  if ((await isHashed) && !envelopes.every(isAnswer)) throw new CodecMismatchError(true);
  return inner.publish(envelopes);
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
  readonly codec: Codec;
  readonly publishWithin: TransportManager['publishWithin'];
  readonly #inner: TransportManager;
  readonly #keys: KeyHashes;
  readonly #codec: KeyedCodec;

  constructor(inner: TransportManager, codec: Codec, records: KeyValueStore = inner.kv) {
    const keys = new KeyHashes(records, codec);
    const keyed: KeyedCodec = {
      ...codec,
      hash: (kind, text) => keys.hash(kind, text),
      ready: () => keys.ready(),
    };
    this.name = inner.name;
    this.service = inner.service;
    this.clock = inner.clock;
    this.codec = codec;
    this.counts = inner.counts;
    this.lookup = codedLookup(inner.lookup, codec);
    this.deadLetters = codedDeadLetters(inner.deadLetters, codec);
    this.runs = codedRuns(inner.runs, keyed);
    this.fleet = inner.fleet;
    this.schedules = codedSchedules(inner.schedules, keyed);
    // Checked before the encoding, so that every transport refuses the same values.
    const kv = new CheckedKeyValueStore(new CodedKeyValueStore(inner.kv, keyed));
    const log = new CheckedLog(codedLog(inner.log, keyed));
    const { kv: ownKv, log: ownLog } = forwardParts((call, args) =>
      callPart(isPlainKey(call.part, args[0]) ? inner : { ...inner, kv, log }, call, args),
    );
    this.kv = ownKv;
    this.log = ownLog;
    const within = inner.publishWithin;
    this.publishWithin =
      within &&
      (async (tx, envelopes) => {
        await keys.ready();
        const encoded = envelopes.map((envelope) => encodeEnvelope(envelope, keyed));
        await within(tx, encoded);
      });
    this.#inner = inner;
    this.#keys = keys;
    this.#codec = keyed;
  }

  start(options: ConsumeOptions): Promise<void> {
    const onDelivery: ConsumeOptions['onDelivery'] = (delivery) =>
      options.onDelivery(new CodedDelivery(delivery, this.#codec));
    const isReader = options.subscriptions.length === 0;
    const onRegister = async (): Promise<void> => {
      await (isReader ? this.#keys.load() : this.#keys.renew());
      await options.onRegister?.();
    };
    return this.#inner.start({ ...options, onDelivery, onRegister });
  }

  get nextTurn(): Promise<void> | undefined {
    return this.#inner.nextTurn;
  }

  publish(envelopes: readonly Envelope[]): readonly Receipt[] | Promise<readonly Receipt[]> {
    const publish = (): readonly Receipt[] | Promise<readonly Receipt[]> =>
      this.#inner.publish(envelopes.map((envelope) => encodeEnvelope(envelope, this.#codec)));
    return this.#keys.isOpen ? publish() : this.#keys.ready().then(publish);
  }

  pause(paused: PausedTypes): Promise<void> {
    return this.#inner.pause(paused);
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
    async runs(type, service, query) {
      const page = await inner.runs(type, service, query);
      return { ...page, events: decode(page.events) };
    },
    find: async (id, options) => decode(await inner.find(id, options)),
    kept: (id) => inner.kept(id),
    async request(requestId) {
      const { events, isTruncated } = await inner.request(requestId);
      return { events: decode(events), isTruncated };
    },
    async overview(query) {
      const overview = await inner.overview(query);
      return { ...overview, runs: overview.runs.map((runs) => runs.map((run) => decodeRun(run, codec))) };
    },
    deadLetterErrors: (type, limit) => inner.deadLetterErrors(type, limit),
    erase: (requestId) => inner.erase(requestId),
  };
}

function codedDeadLetters(inner: DeadLetterStore, codec: Codec): DeadLetterStore {
  return {
    async list(type, limit, filter) {
      const records = await inner.list(type, limit, filter);
      return records.map((record) => ({ ...record, envelope: decodeEnvelope(record.envelope, codec) }));
    },
    replay: (id, service) => inner.replay(id, service),
  };
}

function codedRuns(inner: RunStore, codec: KeyedCodec): RunStore {
  const decode = (run: RunRecord | undefined): RunRecord | undefined => run && decodeRun(run, codec);
  return {
    get: async (type, id, service) => decode(await inner.get(type, id, service)),
    getSince: async (type, id, from, service) => decode(await inner.getSince(type, id, from, service)),
    async waiting(types, limit) {
      return (await inner.waiting(types, limit)).map((runs) => runs.map((run) => decodeRun(run, codec)));
    },
    watch: (type, id, onChange, service) => inner.watch(type, id, onChange, service),
    ended: async (type, id, signal, service) => decode(await inner.ended(type, id, signal, service)),
    async end(type, id, outcome, reason, service) {
      await codec.ready();
      return inner.end(type, id, encodeOutcome(outcome, codec), reason, service);
    },
    async cancel(id, conclude, service) {
      await codec.ready();
      return inner.cancel(id, (envelope) => encodeOutcome(conclude(decodeEnvelope(envelope, codec)), codec), service);
    },
  };
}

function codedSchedules(inner: ScheduleStore, codec: KeyedCodec): ScheduleStore {
  return {
    list: () => inner.list(),
    open: (openings) => inner.open(openings),
    async claim(claim) {
      await codec.ready();
      const name = claim.stored === undefined ? claim.name : hashedScheduleId(claim.name, codec);
      return inner.claim({ ...claim, name, events: claim.events.map((event) => encodeEnvelope(event, codec)) });
    },
    async put(schedule, expected) {
      await codec.ready();
      const id = hashedScheduleId(schedule.id, codec);
      return inner.put({ ...schedule, id, body: encodeJson(schedule.body, codec) }, expected);
    },
    async get(id) {
      await codec.ready();
      const found = await inner.get(hashedScheduleId(id, codec));
      return found && decodeSchedule(found, codec);
    },
    async page(after, limit) {
      const { schedules, total } = await inner.page(after, limit);
      return { schedules: schedules.map((schedule) => decodeSchedule(schedule, codec)), total };
    },
    async remove(id) {
      await codec.ready();
      return inner.remove(hashedScheduleId(id, codec));
    },
    async take(limit, holdMs) {
      const { schedules, nextInMs } = await inner.take(limit, holdMs);
      return { schedules: schedules.map((schedule) => decodeSchedule(schedule, codec)), nextInMs };
    },
    watch: (onEarlier) => inner.watch(onEarlier),
  };
}

/** Returns the id with the key hashed, unless it has none or is one that the store returned. */
function hashedScheduleId(id: string, codec: KeyedCodec): string {
  const start = id.indexOf('/') + 1;
  const key = id.slice(start);
  return key === '' || isHashedKey(key) ? id : id.slice(0, start) + codec.hash('event', decodeURIComponent(key));
}

/** A schedule that cannot be decoded has no body: it must not hide those beside it. */
function decodeSchedule(schedule: StoredSchedule, codec: Codec): StoredSchedule {
  try {
    return { ...schedule, body: decodeJson(schedule.body, codec) };
  } catch {
    return { ...schedule, body: '' };
  }
}

/** Delivery with decoded contents. If they cannot be decoded, the event fails with the error, and stays as it is. */
class CodedDelivery implements Delivery {
  readonly envelope: Envelope;
  readonly attempt: number;
  readonly refusal: Error | undefined;
  readonly checkpoints: ReadonlyMap<string, string>;
  onRevoked: RevokedCallback | undefined;
  readonly #delivery: Delivery;
  readonly #codec: KeyedCodec;
  #onRecorded: Delivery['onRecorded'];

  constructor(delivery: Delivery, codec: KeyedCodec) {
    this.#delivery = delivery;
    this.#codec = codec;
    this.attempt = delivery.attempt;
    const { envelope, checkpoints, refusal } = decodeDelivery(delivery, codec);
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

  get offers(): Delivery['offers'] {
    return this.#delivery.offers.map((offer) => ({ ...offer, body: decodeBody(offer.body, this.#codec).body }));
  }

  get onOffered(): Delivery['onOffered'] {
    return this.#delivery.onOffered;
  }

  set onOffered(listener: Delivery['onOffered']) {
    this.#delivery.onOffered = listener;
  }

  get isAdmitted(): boolean {
    return this.#delivery.isAdmitted;
  }

  admit(): CommitResult | Promise<CommitResult> {
    return this.#delivery.admit();
  }

  async decide(offer: Offer, verdict: Verdict): Promise<CommitResult> {
    const entry = verdict.status === 'failed' && { entry: encodeJson(verdict.entry, this.#codec) };
    return this.#delivery.decide(offer, { ...verdict, ...entry });
  }

  async commit(outcome: Outcome, handlerEnd?: Promise<void>): Promise<CommitResult> {
    return this.#delivery.commit(encodeOutcome(outcome, this.#codec), handlerEnd);
  }

  async checkpoint(key: string, value: string, emits?: readonly Envelope[]): Promise<CommitResult> {
    const encoded = emits?.map((envelope) => encodeEnvelope(envelope, this.#codec));
    return this.#delivery.checkpoint(key, encodeJson(value, this.#codec), encoded);
  }

  get transact(): Delivery['transact'] {
    const { transact } = this.#delivery;
    if (transact === undefined) return undefined;
    return (work, settings) =>
      transact(async (client) => {
        const record = await work(client);
        if ('outcome' in record) return { ...record, outcome: encodeOutcome(record.outcome, this.#codec) };
        const emits = record.emits.map((envelope) => encodeEnvelope(envelope, this.#codec));
        return { key: record.key, value: encodeJson(record.value, this.#codec), emits };
      }, settings);
  }

  async wait(waits: readonly RunWait[]): Promise<CommitResult> {
    return this.#delivery.wait(waits.map((wait) => encodeWait(wait, this.#codec)));
  }
}

type DeliveredRecord = Pick<Delivery, 'envelope' | 'checkpoints' | 'refusal'>;

/** Returns an event and its entries decoded, or the error with which it fails. */
export function decodeDelivery(delivery: DeliveredRecord, codec: Codec): DeliveredRecord {
  const { envelope, refusal } = delivery;
  const refuse = (reason: Error): ReturnType<typeof decodeDelivery> => {
    return { envelope: withoutContents(envelope, 'null'), checkpoints: new Map(), refusal: reason };
  };
  if (refusal !== undefined) return refuse(refusal);
  try {
    const checkpoints = decodeEntries(delivery.checkpoints, codec);
    return { envelope: decodeContents(envelope, codec), checkpoints, refusal };
  } catch (error) {
    return refuse(HubError.is(error) ? error : new CodecError('decode', error));
  }
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

/** Returns a copy of an envelope with another key, deduplication and payload, and with other events of a run if given. */
function copyWith(
  envelope: Envelope,
  {
    key,
    dedupe,
    body,
    receives = envelope.receives,
    cancelOn = envelope.cancelOn,
    recorded,
  }: Pick<CompleteEnvelope, 'key' | 'dedupe' | 'body'> & Pick<Envelope, 'receives' | 'cancelOn' | 'recorded'>,
): Envelope {
  const { id, type, requestId, depth, delayMs, priority, replays, trace, causeId, parent, service, overlap } = envelope;
  // Several times as fast as a spread that is then overwritten.
  const copy: CompleteEnvelope & Pick<Envelope, 'service' | 'receives' | 'cancelOn' | 'overlap' | 'recorded'> = {
    id,
    type,
    requestId,
    depth,
    delayMs,
    priority,
    replays,
    dedupe,
    trace,
    key,
    causeId,
    parent,
    service,
    receives,
    overlap,
    cancelOn,
    recorded,
    body,
  };
  return copy;
}

/** Returns the envelope with its payload encoded, together with its key, and with hashes in place of what identifies it. */
function encodeEnvelope(envelope: Envelope, codec: KeyedCodec): Envelope {
  const { key, dedupe, body, receives, cancelOn, recorded } = envelope;
  return copyWith(envelope, {
    key: key === undefined ? undefined : codec.hash('event', key),
    receives: receives?.map((event) => encodeAwaited(event, codec)),
    cancelOn: cancelOn?.map(({ isJudged, ...event }) => ({ ...encodeAwaited(event, codec), isJudged })),
    recorded: recorded?.map(([name, value]) => [name, encodeJson(value, codec)]),
    dedupe: dedupe && { ...dedupe, id: codec.hash('dedupe', dedupe.id) },
    // No JSON starts like this.
    body: encodeJson(key === undefined ? body : `@${key.length}:${key}${body}`, codec),
  });
}

/** Returns the envelope that {@link encodeEnvelope} encoded. Its deduplication id is not stored. */
function decodeContents(envelope: Envelope, codec: Codec): Envelope {
  const { key, body } = decodeBody(envelope.body, codec);
  return copyWith(envelope, { key, dedupe: undefined, body });
}

/** Returns an envelope whose contents cannot be decoded. */
function withoutContents(envelope: Envelope, body: string): Envelope {
  return copyWith(envelope, { key: undefined, dedupe: undefined, body });
}

/** Returns the payload and the key of an encoded body. */
function decodeBody(encoded: string, codec: Codec): { readonly key: string | undefined; readonly body: string } {
  const text = decodeJson(encoded, codec);
  if (!text.startsWith('@')) return { key: undefined, body: text };
  const start = text.indexOf(':') + 1;
  const end = start + Number(text.slice(1, start - 1));
  return { key: text.slice(start, end), body: text.slice(end) };
}

/** Returns the outcome with its result and the payloads of its follow-ups encoded. */
function encodeOutcome(outcome: FailedOutcome, codec: KeyedCodec): FailedOutcome;
function encodeOutcome(outcome: CompletedOutcome, codec: KeyedCodec): CompletedOutcome;
function encodeOutcome(outcome: Outcome, codec: KeyedCodec): Outcome;
function encodeOutcome(outcome: Outcome, codec: KeyedCodec): Outcome {
  if (!('followUps' in outcome)) return outcome;
  const followUps = outcome.followUps.map((envelope) => encodeEnvelope(envelope, codec));
  if (outcome.status === 'failed' || outcome.result === undefined) return { ...outcome, followUps };
  return { ...outcome, followUps, result: encodeJson(outcome.result, codec) };
}

/** Returns the wait with the payloads of its events encoded, and its key hashed and encoded. */
function encodeWait({ event, run, onCancel, ...wait }: RunWait, codec: KeyedCodec): RunWait {
  return {
    ...wait,
    ...(event !== undefined && { event: encodeAwaited(event, codec) }),
    ...(run !== undefined && { run: encodeEnvelope(run, codec) }),
    ...(onCancel !== undefined && { onCancel: onCancel.map((envelope) => encodeEnvelope(envelope, codec)) }),
  };
}

function encodeAwaited({ type, key }: AwaitedEvent, codec: KeyedCodec): AwaitedEvent {
  return key === undefined ? { type, key } : { type, key: codec.hash('event', key), shownKey: codec.encode(key) };
}

/** Returns the wait with its key. One that cannot be decoded keeps the stored key, by which it can be answered. */
function decodeOpenWait(wait: OpenWait, codec: Codec): OpenWait {
  const { event } = wait;
  if (event?.shownKey === undefined) return wait;
  const { type, key, shownKey } = event;
  try {
    return { ...wait, event: { type, key: codec.decode(shownKey) } };
  } catch {
    return { ...wait, event: { type, key } };
  }
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
  const { body } = decodeBody(JSON.stringify(resolution[embedded]), codec);
  const decoded: unknown = JSON.parse(body);
  return JSON.stringify({ ...resolution, [embedded]: decoded });
}

/** Returns all entries of a run decoded. */
function decodeEntries(entries: ReadonlyMap<string, string>, codec: Codec): ReadonlyMap<string, string> {
  return new Map([...entries].map(([key, value]) => [key, decodeEntry(value, codec)]));
}

/** An entry that cannot be decoded has an unreadable payload: it must not hide the entries beside it. */
function decodeEnvelope(envelope: Envelope, codec: Codec): Envelope {
  try {
    return decodeContents(envelope, codec);
  } catch {
    return withoutContents(envelope, '');
  }
}

/** Returns an event decoded, without the body if it cannot be decoded. */
function decodeEvent(event: EventRecord, codec: Codec): EventRecord {
  const { body, run } = event;
  return { ...event, body: body && shownBody(body, codec), run: run && decodeRun(run, codec) };
}

function shownBody(body: string, codec: Codec): string | undefined {
  try {
    return decodeBody(body, codec).body;
  } catch {
    return undefined;
  }
}

function decodeRun(run: RunRecord, codec: Codec): RunRecord {
  const envelope = decodeEnvelope(run.envelope, codec);
  const waits = run.waits.map((wait) => decodeOpenWait(wait, codec));
  try {
    const result = run.result === undefined ? undefined : decodeJson(run.result, codec);
    return { ...run, envelope, waits, result, checkpoints: decodeEntries(run.checkpoints, codec) };
  } catch {
    return { ...run, envelope, waits, result: undefined, checkpoints: new Map() };
  }
}
