/** Deeper values are not shown: closing them would take longer than reading them. */
const maxDepth = 64;

/** Part of an answer that is JSON with the closing characters behind it. */
interface ClosablePart {
  readonly end: number;
  readonly closers: string;
}

/**
 * Reads the JSON value of an answer while the model writes it. Time and memory are linear in the length of the answer.
 *
 * Omits incomplete parts: a name without a value, a number that may go on, half an escape. A text is shown as far as it is
 * written.
 */
export class PartialJson {
  /** Answer from the start of its value on. */
  #text = '';
  /** Characters that close what is open, the outermost first. */
  readonly #open: ('}' | ']')[] = [];
  #string: 'none' | 'name' | 'value' = 'none';
  /** The next text is the name of a property. */
  #awaitsName = false;
  /** Start of an escape that is not complete, and the number of characters that it lacks. */
  #escape: { readonly start: number; left: number } | undefined;
  #closable: ClosablePart | undefined;
  /** Length from which the answer is parsed again. It grows by a part of the length, so that all parses take linear time. */
  #nextLength = 1;
  /** The value is complete, or is none. */
  #isOver = false;

  /** Adds text. Returns the value so far; `undefined` if there is nothing new to show. */
  add(text: string): unknown {
    if (this.#isOver) return undefined;
    // Text in front of the value, such as a fence.
    const start = this.#text === '' ? text.search(/[[{]/) : 0;
    if (start === -1) return undefined;
    const offset = this.#text.length;
    const added = text.slice(start);
    this.#text += added;
    for (let i = 0; i < added.length && !this.#isOver; i++) this.#read(added.charAt(i), offset + i);
    const { length } = this.#text;
    if (!this.#isOver && length < this.#nextLength) return undefined;
    this.#nextLength = length + Math.max(16, length >> 5);
    return this.#value();
  }

  #read(char: string, at: number): void {
    if (this.#string !== 'none') this.#readText(char, at);
    else if (char === '"') this.#string = this.#awaitsName ? 'name' : 'value';
    else if (char === '{' || char === '[') {
      this.#open.push(char === '{' ? '}' : ']');
      this.#awaitsName = char === '{';
      this.#isOver = this.#open.length > maxDepth;
      this.#markClosable(at + 1);
    } else if (char === '}' || char === ']') {
      this.#open.pop();
      this.#awaitsName = false;
      this.#isOver = this.#open.length === 0;
      this.#markClosable(at + 1);
    } else if (char === ',') {
      this.#awaitsName = this.#open.at(-1) === '}';
      this.#markClosable(at);
    } else if (char === ':') {
      this.#awaitsName = false;
    }
  }

  #readText(char: string, at: number): void {
    if (this.#escape !== undefined) {
      this.#escape.left += at === this.#escape.start + 1 && char === 'u' ? 3 : -1;
      if (this.#escape.left === 0) this.#escape = undefined;
    } else if (char === '\\') {
      this.#escape = { start: at, left: 1 };
    } else if (char === '"') {
      if (this.#string === 'value') this.#markClosable(at + 1);
      this.#string = 'none';
    }
  }

  #markClosable(end: number): void {
    this.#closable = this.#open.length > maxDepth ? undefined : { end, closers: this.#closers() };
  }

  #closers(): string {
    return this.#open.toReversed().join('');
  }

  #value(): unknown {
    const { end, closers } = this.#string === 'value' ? this.#openText() : (this.#closable ?? nothing);
    try {
      return JSON.parse(this.#text.slice(0, end) + closers) as unknown;
    } catch {
      // No JSON, such as brackets in a sentence.
      this.#isOver = true;
      return undefined;
    }
  }

  #openText(): ClosablePart {
    return { end: this.#escape?.start ?? this.#text.length, closers: `"${this.#closers()}` };
  }
}

const nothing: ClosablePart = { end: 0, closers: '' };
