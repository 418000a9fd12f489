import type { TurnFacts, TurnUsage } from '../../../server/dashboard/protocol.js';
import { boolean, type Decoder, number, object, optional, string } from './decoder.js';

/** Decodes tokens, and their cost. */
export const usage: Decoder<TurnUsage> = object<TurnUsage>({
  promptTokens: number,
  completionTokens: number,
  totalTokens: number,
  cachedTokens: optional(number),
  reasoningTokens: optional(number),
  cost: optional(number),
});

/** Decodes the facts about the turn of an agent. */
export const turnFacts: Decoder<TurnFacts> = object<TurnFacts>({
  agent: optional(string),
  model: optional(string),
  usage: optional(usage),
  isToolError: optional(boolean) as Decoder<TurnFacts['isToolError']>,
});
