import { HubError } from '../../errors.js';
import type { OptionChecker } from '../../options.js';
import { publicErrorInfo } from '../../redaction/public-error.js';

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
