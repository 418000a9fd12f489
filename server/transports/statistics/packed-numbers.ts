/**
 * Numbers as text, which every store can hold and which takes one byte per character in memory. A number is one character
 * of base 64 per 5 bits, the lowest first; all but the last have the sixth bit set.
 *
 * @module
 */

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const codeOfDigit = Buffer.from(digits, 'latin1');
const digitOfCode = new Uint8Array(128);
for (const [digit, code] of codeOfDigit.entries()) digitOfCode[code] = digit;

const base = 32;
// 2^55: what something else has written cannot become infinite.
const maxDigits = 11;

/** Writes numbers from 0 to `Number.MAX_SAFE_INTEGER`. */
export class NumberWriter {
  #bytes = Buffer.alloc(1_024);
  #length = 0;

  /** Writes a whole number. */
  write(value: number): void {
    this.#reserve(maxDigits);
    let rest = value;
    for (; rest >= base; rest = Math.floor(rest / base)) this.#writeDigit(base + (rest % base));
    this.#writeDigit(rest);
  }

  /** Writes the numbers of a text that another writer returned. */
  writeText(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      this.#reserve(1);
      this.#bytes[this.#length] = text.charCodeAt(at);
      this.#length += 1;
    }
  }

  /** Returns the text of the numbers since the last call. */
  take(): string {
    const text = this.#bytes.toString('latin1', 0, this.#length);
    this.#length = 0;
    return text;
  }

  #reserve(length: number): void {
    if (this.#length + length <= this.#bytes.length) return;
    this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
  }

  #writeDigit(digit: number): void {
    this.#bytes[this.#length] = codeOfDigit[digit] ?? 0;
    this.#length += 1;
  }
}

/** Reads numbers that a {@link NumberWriter} has written. What is not a digit counts as 0, as do numbers after the end. */
export class NumberReader {
  readonly #text: string;
  #at = 0;

  /** @param text what a writer returned */
  constructor(text: string) {
    this.#text = text;
  }

  /** Every number was read. */
  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Position in the text. */
  get at(): number {
    return this.#at;
  }

  /** Returns the text from a position to the current one. */
  textFrom(start: number): string {
    return this.#text.slice(start, this.#at);
  }

  /** Returns the next number; 0 at the end. */
  next(): number {
    let value = 0;
    for (let unit = 1, count = 0; count < maxDigits && this.#at < this.#text.length; unit *= base, count += 1) {
      const digit = digitOfCode[this.#text.charCodeAt(this.#at)] ?? 0;
      this.#at += 1;
      if (digit < base) return value + digit * unit;
      value += (digit - base) * unit;
    }
    return value;
  }
}
