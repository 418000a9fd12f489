import { readArray, readHash, readString } from '../scripts/reply.js';

/** What all processes on one Redis tell of themselves: what is known of them need not be read again. */
export class Members {
  #texts: ReadonlyMap<string, string> = new Map();

  /** What to tell the script that is asked, and how to read what it answers: a text for each process that lives. */
  ask(): { readonly args: readonly (string | number)[]; readonly read: (answer: unknown) => readonly string[] } {
    // An answer goes with what was known when it was asked for, whatever was read meanwhile.
    const known = this.#texts;
    return { args: [known.size, ...known.keys()], read: (answer) => this.#read(answer, known) };
  }

  #read(answer: unknown, known: ReadonlyMap<string, string>): readonly string[] {
    const [hashes, newTexts] = readArray(answer);
    const texts = new Map([...known, ...readHash(newTexts)]);
    const found = readArray(hashes).map((value) => {
      const hash = readString(value);
      return { hash, text: texts.get(hash) ?? '{}' };
    });
    this.#texts = new Map(found.map(({ hash, text }) => [hash, text]));
    return found.map(({ text }) => text);
  }
}
