import type { SharedV3ProviderMetadata } from '@ai-sdk/provider';
import type { Message } from '../../model/message.js';

/**
 * Part of an answer that the vendor requires back: reasoning in its position, and the vendor's signatures. A call is
 * identified by its index in the message's `toolCalls`.
 */
export type ReplayPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly metadata?: SharedV3ProviderMetadata }
  | { readonly type: 'call'; readonly index: number; readonly metadata?: SharedV3ProviderMetadata };

/**
 * Returns the parts as `Message.providerMetadata` under the provider's name, so that another vendor that continues the
 * conversation does not receive them. Returns `undefined` if text and calls are sufficient.
 */
export function writeReplay(provider: string, parts: readonly ReplayPart[]): Record<string, unknown> | undefined {
  const isNeeded = parts.some((part) => part.type === 'reasoning' || part.metadata !== undefined);
  return isNeeded ? { [provider]: parts } : undefined;
}

/** Returns the parts that this provider stored on a message, or `undefined`. */
export function readReplay({ providerMetadata }: Message, provider: string): readonly ReplayPart[] | undefined {
  const parts = providerMetadata?.[provider];
  return Array.isArray(parts) && parts.every(isReplayPart) ? parts : undefined;
}

function isReplayPart(value: unknown): value is ReplayPart {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  const metadata = 'metadata' in value ? value.metadata : undefined;
  if (metadata !== undefined && (typeof metadata !== 'object' || metadata === null)) return false;
  if (value.type === 'call') return 'index' in value && Number.isInteger(value.index);
  return (value.type === 'text' || value.type === 'reasoning') && 'text' in value && typeof value.text === 'string';
}
