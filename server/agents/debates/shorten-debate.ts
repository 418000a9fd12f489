import { type CutText, commonLimit, cutText, jsonBytes } from '../output/cut-text.js';
import type { DebateResult } from './debate-result.js';

/** Cuts the longest texts of a debate to the same length, so that its JSON has at most `maxBytes`. */
export function shortenDebate(result: DebateResult, maxBytes: number): DebateResult {
  const texts: string[] = [];
  const collect = (text: string): string => {
    texts.push(text);
    return '';
  };
  const withoutTexts = mapTexts(result, collect);
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  const room = maxBytes - jsonBytes({ ...withoutTexts, omittedChars: total }) + texts.length * jsonBytes('');
  const parts = texts.map((text) => ({ bytes: jsonBytes(text), minBytes: jsonBytes('') }));
  const limit = commonLimit(parts, room);
  if (limit === undefined) return result;
  const cuts = new Map<string, CutText>();
  let omittedChars = 0;
  const cut = (text: string): string => {
    const found = cuts.get(text) ?? cutText(text, limit);
    cuts.set(text, found);
    omittedChars += found.omittedChars;
    return found.text;
  };
  return { ...mapTexts(result, cut), omittedChars };
}

function mapTexts(result: DebateResult, map: (text: string) => string): DebateResult {
  const { topic, output, synthesis, rounds } = result;
  return {
    ...result,
    topic: map(topic),
    output: map(output),
    synthesis: synthesis === undefined ? undefined : map(synthesis),
    rounds: rounds.map(({ roundNumber, contributions }) => ({
      roundNumber,
      contributions: contributions.map((contribution) => ({ ...contribution, output: map(contribution.output) })),
    })),
  };
}
