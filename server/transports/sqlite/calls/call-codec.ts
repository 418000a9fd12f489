import { type ErrorInfo, errorInfo } from '../../../errors.js';
import { errorOf } from '../../errors.js';

/** Answer to a call as the file has it. */
export type Answer = { readonly value: unknown } | { readonly error: ErrorInfo };

// No record has a property of this name.
const mapTag = '\u0000map';

/** Encodes the arguments of a call, or an answer. Maps stay maps; properties that are `undefined` are left out. */
export function encodeCall(value: readonly unknown[] | Answer): string {
  return JSON.stringify(value, (_, each) => (each instanceof Map ? { [mapTag]: [...each] } : each));
}

/** Returns the arguments that {@link encodeCall} encoded. */
export function decodeArguments(text: string): readonly unknown[] {
  const decoded = decode(text);
  return Array.isArray(decoded) ? decoded : [];
}

/** Returns the value of an answer. @throws the error of an answer */
export function decodeAnswer(text: string): unknown {
  const answer = Object(decode(text)) as Partial<Record<'value' | 'error', unknown>>;
  if (answer.error === undefined) return answer.value;
  const { name, message, code } = Object(answer.error) as Partial<Record<keyof ErrorInfo, unknown>>;
  throw errorOf({ name: String(name), message: String(message), ...(typeof code === 'string' && { code }) });
}

/** Returns the answer to a call that failed. */
export function failedAnswer(error: unknown): Answer {
  return { error: errorInfo(error) };
}

function decode(text: string): unknown {
  return JSON.parse(text, (_, each) => {
    const entries: unknown = each !== null && typeof each === 'object' ? each[mapTag] : undefined;
    return Array.isArray(entries) ? new Map(entries) : each;
  });
}
