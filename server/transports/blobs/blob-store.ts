import { HubError, quote } from '../../errors.js';
import { publicErrorInfo } from '../../redaction.js';

/**
 * Store of large values, such as a bucket of S3: `blobs` of `createHub`. All processes that use a transport need the same
 * one. Names have up to 64 letters, digits and hyphens, are never used twice, and cannot be guessed.
 *
 * @example
 * ```ts
 * const blobs: BlobStore = {
 *   put: async (name, data) => void (await s3.send(new PutObjectCommand({ Bucket, Key: name, Body: data }))),
 *   get: async (name) => (await s3.send(new GetObjectCommand({ Bucket, Key: name }))).Body?.transformToByteArray(),
 *   delete: async (name) => void (await s3.send(new DeleteObjectCommand({ Bucket, Key: name }))),
 * };
 * ```
 */
export interface BlobStore {
  /** Stores a value. When it resolves, every process can read the value. */
  put(name: string, data: Uint8Array): Promise<void>;
  /** Returns a value; `undefined` if there is none of the name. It rejects if the store cannot tell. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Deletes a value, or does nothing if there is none of the name. */
  delete(name: string): Promise<void>;
}

/** A stored content is a reference, and the blob store has no value of its name. */
export class MissingBlobError extends HubError {
  /** Name of the value in the store. */
  readonly blob: string;

  constructor(blob: string) {
    super(
      'ERR_BLOB_MISSING',
      `the blob store has no value ${quote(blob)}; pass the store that the other processes use as blobs of createHub, or restore the value, then replay`,
    );
    this.blob = blob;
  }
}

/** A stored content is a reference, and this hub has no `blobs`. */
export class NoBlobStoreError extends HubError {
  /** Name of the value in the store. */
  readonly blob: string;

  constructor(blob: string) {
    super(
      'ERR_NO_BLOB_STORE',
      `the content is in a blob store as ${quote(blob)}, and this hub has none; pass the same blobs to createHub, then replay`,
    );
    this.blob = blob;
  }
}

/** A function of `blobs` threw. Nothing was accepted or recorded. */
export class BlobStoreError extends HubError {
  constructor(operation: 'put' | 'get' | 'delete', blob: string, cause: unknown) {
    super('ERR_BLOB_STORE', `blobs.${operation} of ${quote(blob)} threw ${publicErrorInfo(cause).name}`, { cause });
  }
}

const referenceKey = '"hubline:blob"';
const nameForm = String.raw`\d{8}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`;
// Inside a string of JSON the quotes would be escaped. A store may write other white space.
const references = new RegExp(String.raw`\{\s*${referenceKey}\s*:\s*"(${nameForm})"\s*\}`, 'g');

/** Returns a new name, which begins with the day. */
export function newBlobName(now: number): string {
  return `${new Date(now).toISOString().slice(0, 10).replaceAll('-', '')}-${crypto.randomUUID()}`;
}

/** Returns the JSON that stands for a value of the store. */
export function toReference(name: string): string {
  return `{${referenceKey}:"${name}"}`;
}

/** Returns the names of all references in a JSON text. */
export function referencesIn(json: string): readonly string[] {
  if (!json.includes(referenceKey)) return [];
  return Array.from(json.matchAll(references), ([, name = '']) => name);
}

/** Replaces all references in a JSON text by their values, which are JSON too. */
export function replaceReferences(json: string, values: ReadonlyMap<string, string>): string {
  return json.replaceAll(references, (reference: string, name: string) => values.get(name) ?? reference);
}
