import type { SharedV3ProviderMetadata } from '@ai-sdk/provider';
import type { Message } from '../message.js';

/**
 * A part of an answer as its vendor wants it back: reasoning in its place, and signatures of the vendor.
 * A call is meant by its place in the message's `toolCalls`.
 */
export type ReplayPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly metadata?: SharedV3ProviderMetadata }
  | { readonly type: 'call'; readonly index: number; readonly metadata?: SharedV3ProviderMetadata };

/**
 * The parts as `Message.providerMetadata`, under the provider's name, so that another vendor that goes on
 * with the conversation is not bothered with them; `undefined` where text and calls say it all.
 */
export function writeReplay(provider: string, parts: readonly ReplayPart[]): Record<string, unknown> | undefined {
  const isNeeded = parts.some((part) => part.type === 'reasoning' || part.metadata !== undefined);
  return isNeeded ? { [provider]: parts } : undefined;
}

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
