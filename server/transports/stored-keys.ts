import { type Codec, CodecError, CodecMismatchError } from './codec.js';
import { nodeCrypto } from './derived-ids.js';
import type { KeyValueStore } from './key-values.js';

/**
 * Kind of a stored key: `event` keys of events and waits, `dedupe` deduplication ids, `value` keys of the key-value
 * store, `log` names of logs. Equal texts of different kinds have different hashes.
 */
export type KeyKind = 'event' | 'dedupe' | 'value' | 'log';

// Key of the key-value store with the record that says how the keys of the store are stored.
const recordKey = 'hubline:keys';
/** Key of the key-value store with the pauses of the hub. */
export const pausesKey = 'hubline:pauses';
/** Key of the key-value store with the releases of the hub. */
export const releasesKey = 'hubline:releases';
/** Key of the key-value store with the processes of the last hour. */
export const processesKey = 'hubline:processes';
/** Key of the key-value store with the workflows that invoke others. */
export const invocationsKey = 'hubline:invocations';

const plainValues: ReadonlySet<unknown> = new Set([pausesKey, releasesKey, processesKey, invocationsKey]);

const errorsPrefix = 'hubline:errors:';

/** Returns the key of the key-value store with the error groups of a type. */
export function errorsKey(type: string): string {
  return errorsPrefix + type;
}
/** Name of the log with the actions of operators. */
export const auditLog = 'hubline:audit';
/** Name of the log with their outcomes. */
export const auditOutcomesLog = 'hubline:audit-outcomes';
/** Name of the log that announces changes of the pauses. */
export const pausesLog = 'hubline:pauses';

const plainLogs: ReadonlySet<unknown> = new Set([auditLog, auditOutcomesLog, pausesLog]);

/**
 * Returns `true` for a key, or the name of a log, that is stored as it is, and its contents too: everyone who operates the
 * store has to read and change them, also without the codec.
 *
 * @param part part of the transport
 */
export function isPlainKey(part: string, key: unknown): boolean {
  if (part === 'log') return plainLogs.has(key);
  return part === 'kv' && (plainValues.has(key) || (typeof key === 'string' && key.startsWith(errorsPrefix)));
}

const outputPrefix = 'output\n';
const textsPrefix = 'texts\n';

/** Returns the name of the log with the live output of an event or a run. */
export function outputLog(service: string, id: string): string {
  return `${outputPrefix}${service}\n${id}`;
}

/** Returns the name of the log with the texts that were sent to a run. */
export function textsLog(service: string, id: string): string {
  return `${textsPrefix}${service}\n${id}`;
}

/** Returns the names of the logs of an event or a run, which its transport deletes with it. */
export function runLogs(service: string, id: string): readonly string[] {
  return [outputLog(service, id), textsLog(service, id)];
}

/** Returns `true` for the name of a log of a run. It is stored as it is: ids are no contents. */
export function isRunLog(name: string): boolean {
  return name.startsWith(outputPrefix) || name.startsWith(textsPrefix);
}

const plainRecord = 'plain';
const hashedRecord = 'hmac:';

const secretBytes = 32;
const hashBytes = 16;
const maxRecent = 1_000;
// Keys of events have up to 512 characters, those of values any number.
const maxRecentLength = 520;
// In keys of Redis, other characters would be percent-encoded.
const hashPrefix = 'hmac.';
const hashForm = /^hmac\.[\w-]{22}$/;

/** Returns `true` for a text in the form that {@link KeyHashes} stores. */
export function isHashedKey(key: string | undefined): boolean {
  return key !== undefined && hashForm.test(key);
}

/** Returns the record of a store. If it has none, stores one: of processes that start at once, one decides. */
async function claimRecord(kv: KeyValueStore, propose: () => string): Promise<string> {
  for (;;) {
    const stored = await kv.get(recordKey);
    if (stored !== undefined) return stored;
    const proposed = propose();
    if (await kv.set(recordKey, proposed, { ifAbsent: true })) return proposed;
  }
}

/** Returns `true` if the keys of a store are hashed. A store without a record has plain keys from now on. */
export async function claimPlainKeys(kv: KeyValueStore): Promise<boolean> {
  return (await claimRecord(kv, () => plainRecord)) !== plainRecord;
}

/** Returns `true` if the keys of a store are hashed, and `undefined` if nothing was stored yet. */
export async function hasHashedKeys(kv: KeyValueStore): Promise<boolean | undefined> {
  const record = await kv.get(recordKey);
  return record === undefined ? undefined : record !== plainRecord;
}

/**
 * Hashes the keys of a store: 16 bytes of HMAC-SHA-256 under a random secret, which the store has in encoded form. Who
 * reads the store can neither read a key nor find one by trying.
 */
export class KeyHashes {
  readonly #kv: KeyValueStore;
  readonly #codec: Codec;
  #secret: Buffer | undefined;
  /** A hash takes several microseconds, and most keys are used again soon. */
  readonly #recent = new Map<string, string>();
  #loading: Promise<string> | undefined;

  /** @param kv store whose values are not encoded */
  constructor(kv: KeyValueStore, codec: Codec) {
    this.#kv = kv;
    this.#codec = codec;
  }

  /** The secret is known. */
  get isOpen(): boolean {
    return this.#secret !== undefined;
  }

  /** Reads the secret, unless it is known. @throws as {@link load} */
  async ready(): Promise<void> {
    if (this.isOpen) return;
    this.#loading ??= this.load().finally(() => {
      this.#loading = undefined;
    });
    await this.#loading;
  }

  /**
   * Reads the secret, and returns the record of the store. A store without one receives the known secret, or a new one:
   * it may have lost its data.
   *
   * @throws {CodecMismatchError} if the keys of the store are plain
   * @throws {CodecError} if the secret cannot be decoded
   */
  async load(): Promise<string> {
    const record = await claimRecord(this.#kv, () => this.#toRecord());
    if (!record.startsWith(hashedRecord)) throw new CodecMismatchError(false);
    this.#secret = this.#toSecret(record);
    this.#recent.clear();
    return record;
  }

  /** As {@link load}, then encodes the secret again, so that the keys of the codec can be rotated. */
  async renew(): Promise<void> {
    const record = await this.load();
    // If it fails, another process has encoded it.
    await this.#kv.compareAndSet(recordKey, record, this.#toRecord());
  }

  /** Returns the stored form of a key. Call it after {@link ready}. */
  hash(kind: KeyKind, text: string): string {
    const named = `${kind}\0${text}`;
    const known = this.#recent.get(named);
    if (known !== undefined) return known;
    if (this.#secret === undefined) throw new Error('a key was stored before the secret of the store was known');
    const hmac = nodeCrypto().createHmac('sha256', this.#secret).update(named);
    const hash = hashPrefix + hmac.digest().toString('base64url', 0, hashBytes);
    if (this.#recent.size === maxRecent) this.#recent.clear();
    if (named.length <= maxRecentLength) this.#recent.set(named, hash);
    return hash;
  }

  #toRecord(): string {
    const secret = this.#secret ?? nodeCrypto().randomBytes(secretBytes);
    return hashedRecord + this.#codec.encode(secret.toString('base64url'));
  }

  #toSecret(record: string): Buffer {
    const secret = Buffer.from(this.#codec.decode(record.slice(hashedRecord.length)), 'base64url');
    if (secret.length !== secretBytes) throw new CodecError('decode', new Error('not a secret'));
    return secret;
  }
}

/** Codec that hashes keys too. */
export interface KeyedCodec extends Codec, Pick<KeyHashes, 'hash' | 'ready'> {}
