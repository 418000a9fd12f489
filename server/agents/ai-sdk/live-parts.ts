import type { LanguageModelV3Content, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { OversizedResponseError } from '../model/provider-error.js';

/** Returns the text of a part that the model wrote. */
export function textOf(part: LanguageModelV3Content | LanguageModelV3StreamPart): string {
  if ('text' in part) return part.text;
  if ('delta' in part) return part.delta;
  return part.type === 'tool-call' ? `${part.toolName}${part.input}` : '';
}

/** Maximum number of characters of an answer: a record has room for as many bytes. */
const maxChars = 16 * 1_024 * 1_024;

/** Parts of a stream as they are recorded: adjacent deltas of a block are one. */
export class RecordedParts {
  readonly parts: LanguageModelV3StreamPart[] = [];
  readonly #provider: string;
  #chars = 0;

  constructor(provider: string) {
    this.#provider = provider;
  }

  /** @throws {OversizedResponseError} */
  add(part: LanguageModelV3StreamPart): void {
    this.#chars += textOf(part).length;
    if (this.#chars > maxChars) throw new OversizedResponseError(this.#provider, maxChars);
    const last = this.parts.at(-1);
    const isSameBlock =
      'delta' in part && last !== undefined && 'delta' in last && last.type === part.type && last.id === part.id;
    if (!isSameBlock) this.parts.push(part);
    else this.parts[this.parts.length - 1] = { ...last, ...part, delta: last.delta + part.delta };
  }
}

/**
 * Stream of an answer that is being recorded. What makes its reader act, a call of a tool and the end, is held back until
 * the answer is recorded.
 */
export class LiveParts {
  readonly stream: ReadableStream<LanguageModelV3StreamPart>;
  /** Resolves with the first part. Rejects if there is none. */
  readonly started: Promise<void>;
  /** A reader saw a part of the answer. */
  isShown = false;
  #controller: ReadableStreamDefaultController<LanguageModelV3StreamPart> | undefined;
  #start: () => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #held: LanguageModelV3StreamPart[] = [];
  #isHolding = false;

  constructor() {
    this.started = new Promise((resolve, reject) => {
      this.#start = resolve;
      this.#refuse = reject;
    });
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      // The answer is recorded all the same.
      cancel: () => {
        this.#controller = undefined;
      },
    });
  }

  push(part: LanguageModelV3StreamPart): void {
    this.#isHolding ||= part.type === 'finish' || (part.type === 'tool-call' && part.providerExecuted !== true);
    this.#held.push(part);
    // What comes before the answer does not keep it from being requested again.
    if (!this.#isHolding && !isPreamble(part)) this.#flush();
  }

  /** Drops what another attempt left, of which nothing was shown. */
  reset(): void {
    this.#held = [];
    this.#isHolding = false;
  }

  replay(parts: readonly LanguageModelV3StreamPart[]): void {
    this.#held = [...parts];
  }

  end(): void {
    this.#flush();
    this.#controller?.close();
  }

  fail(error: unknown): void {
    this.#refuse(error);
    this.#controller?.enqueue({ type: 'error', error });
    this.#controller?.close();
  }

  #flush(): void {
    for (const part of this.#held) this.#controller?.enqueue(part);
    this.#held = [];
    this.isShown = true;
    this.#start();
  }
}

function isPreamble({ type }: LanguageModelV3StreamPart): boolean {
  return type === 'stream-start' || type === 'response-metadata' || type === 'raw';
}
