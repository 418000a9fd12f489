import type {
  LanguageModelV3Content,
  LanguageModelV3Reasoning,
  LanguageModelV3StreamPart,
  LanguageModelV3Text,
} from '@ai-sdk/provider';
import type { AnswerBuilder } from './answer-builder.js';

/**
 * Assembles the parts of a streamed answer, in the order in which they start: text and reasoning arrive in deltas, calls
 * complete.
 */
export class StreamAssembler {
  readonly #answer: AnswerBuilder;
  readonly #parts: LanguageModelV3Content[] = [];
  readonly #open = new Map<string, LanguageModelV3Text | LanguageModelV3Reasoning>();

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  /** Adds a part of the stream. The answer receives all parts when the stream finishes. */
  add(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.id, { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' });
        break;
      case 'tool-call':
        this.#parts.push(part);
        break;
      case 'finish':
        for (const content of this.#parts) if (!isEmpty(content)) this.#answer.add(content);
        return;
    }
    if (!('id' in part) || part.id === undefined) return;
    const block = this.#open.get(part.id);
    if (block === undefined) return;
    if ('delta' in part) block.text += part.delta;
    // A signature may arrive with any delta; the last one counts.
    if ('providerMetadata' in part && part.providerMetadata) block.providerMetadata = part.providerMetadata;
    if (part.type === 'text-end' || part.type === 'reasoning-end') this.#open.delete(part.id);
  }

  #start(id: string, block: LanguageModelV3Text | LanguageModelV3Reasoning): void {
    this.#open.set(id, block);
    this.#parts.push(block);
  }
}

function isEmpty(content: LanguageModelV3Content): boolean {
  return 'text' in content && content.text === '' && content.providerMetadata === undefined;
}
