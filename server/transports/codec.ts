import { HubError } from '../errors.js';
import type { OptionChecker } from '../options.js';
import { publicErrorInfo } from '../redaction.js';

/**
 * Encodes what a transport stores, for example with a cipher: payloads, results, checkpoints, and the values of the
 * key-value store, conversations included. Keys of events, waits, values and logs, and deduplication ids, are stored as
 * hashes under a secret of the store. Ids, types, request ids, names of steps, times, counts and error messages are
 * stored as they are.
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

/** The keys of a store are hashed and its transport has no codec, or they are plain and it has one. */
export class CodecMismatchError extends HubError {
  /** @param isHashed the store was first used with a codec */
  constructor(isHashed: boolean) {
    super(
      'ERR_CODEC_MISMATCH',
      isHashed
        ? 'the data was written with a codec, and this transport has none; pass the same codec. Without it a hub without handlers can read, replay and cancel, and answer a wait by its stored key'
        : 'the data was written without a codec, so its keys are not hashed; handle what is pending without the codec, then use the codec with another prefix or file',
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
