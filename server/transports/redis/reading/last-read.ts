/**
 * Results of the last read, by the text that each was read from. Between two reads of a thousand types few of the texts
 * change.
 */
export class LastRead<T> {
  #results: ReadonlyMap<string, T> = new Map();
  #scope: number | undefined;

  /**
   * Returns a result per text.
   *
   * @param scope results of another scope are not used again
   */
  read(texts: readonly string[], parse: (text: string) => T, scope?: number): T[] {
    const last: ReadonlyMap<string, T> = scope === this.#scope ? this.#results : new Map();
    const results = new Map<string, T>();
    const read = texts.map((text) => {
      const result = last.get(text) ?? results.get(text) ?? parse(text);
      results.set(text, result);
      return result;
    });
    this.#results = results;
    this.#scope = scope;
    return read;
  }
}
