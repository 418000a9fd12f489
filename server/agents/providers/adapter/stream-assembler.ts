import type { LanguageModelV3Reasoning, LanguageModelV3StreamPart, LanguageModelV3Text } from '@ai-sdk/provider';
import type { AnswerBuilder } from './answer-builder.js';

/** Assembles the parts of a streamed answer: text and reasoning arrive in deltas, calls complete. */
export class StreamAssembler {
  readonly #answer: AnswerBuilder;
  readonly #open = new Map<string, LanguageModelV3Text | LanguageModelV3Reasoning>();

  constructor(answer: AnswerBuilder) {
    this.#answer = answer;
  }

  add(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#open.set(part.id, { type: part.type === 'text-start' ? 'text' : 'reasoning', text: '' });
        break;
      case 'tool-call':
        this.#answer.add(part);
        break;
      case 'finish':
        for (const id of [...this.#open.keys()]) this.#close(id);
        break;
    }
    if (!('id' in part) || part.id === undefined) return;
    const block = this.#open.get(part.id);
    if (block === undefined) return;
    if ('delta' in part) block.text += part.delta;
    // A signature may arrive with any delta; the last one counts.
    if ('providerMetadata' in part && part.providerMetadata) block.providerMetadata = part.providerMetadata;
    if (part.type === 'text-end' || part.type === 'reasoning-end') this.#close(part.id);
  }

  #close(id: string): void {
    const block = this.#open.get(id);
    this.#open.delete(id);
    if (block !== undefined && (block.text !== '' || block.providerMetadata)) this.#answer.add(block);
  }
}
