import type { CommandClient } from './command-client.js';
import { membersScript } from './lua/membership.js';
import { readArray, readHash, readString } from './reply.js';

/** What all processes on one Redis tell of themselves. Asks only for what it has not read before. */
export class Members {
  readonly #client: CommandClient;
  readonly #prefix: string;
  #texts: ReadonlyMap<string, string> = new Map();

  constructor(client: CommandClient, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
  }

  /** One of each process that lives; those of one kind are the same. */
  async descriptions(): Promise<readonly string[]> {
    const known = this.#texts;
    const answer = await this.#client.run((client) => membersScript.run(client, this.#prefix, [...known.keys()]), {
      isRepeatable: true,
    });
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
