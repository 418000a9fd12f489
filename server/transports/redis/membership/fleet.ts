import { stoppedDescription } from '../../services.js';
import type { ConnectedProcess, FleetReader } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { readArray, readHash, readString } from '../connection/reply.js';
import { type ScriptArgument, scripts } from '../connection/script.js';

/** Descriptions of processes. */
interface FleetDescriptions {
  /** One per live process. */
  readonly live: readonly string[];
  /** Those of the last processes of services that have no live one, each with the property `isStopped`. */
  readonly stopped: readonly string[];
}

/** Arguments for `readDescriptions`, and the reader of its reply. */
export interface DescriptionsQuery {
  readonly args: readonly ScriptArgument[];
  read(reply: unknown): FleetDescriptions;
}

/** Returns the reply of {@link scripts.processes}. */
function readProcesses({ read }: DescriptionsQuery, reply: unknown): readonly ConnectedProcess[] {
  const [found, stateReply] = readArray(reply);
  const states = readArray(stateReply).map(readString);
  return read(found).live.map((description, index) => ({ description, state: states[index] ?? '' }));
}

/** Processes on one Redis. Descriptions that are known are not read again. */
export class Fleet implements FleetReader {
  readonly #commands: CommandClient;
  #known: ReadonlyMap<string, string> = new Map();
  /** Descriptions with the property `isStopped`, by the hash of those without. */
  #stopped: ReadonlyMap<string, string> = new Map();

  constructor(commands: CommandClient) {
    this.#commands = commands;
  }

  async registered(): Promise<readonly string[]> {
    const { args, read } = this.query();
    const { live, stopped } = read(await this.#commands.runScript(scripts.descriptions, args));
    return [...live, ...stopped];
  }

  async processes(): Promise<readonly ConnectedProcess[]> {
    const query = this.query();
    return readProcesses(query, await this.#commands.runScript(scripts.processes, query.args));
  }

  query(): DescriptionsQuery {
    // A reply leaves out what the query named as known, even if another reply has arrived since.
    const known = this.#known;
    return { args: [known.size, ...known.keys()], read: (reply) => this.#read(reply, known) };
  }

  #read(reply: unknown, known: ReadonlyMap<string, string>): FleetDescriptions {
    const [liveReply, newTexts, stoppedReply] = readArray(reply);
    const texts = new Map([...known, ...readHash(newTexts)]);
    const textOf = (hash: string): string => texts.get(hash) ?? '{}';
    const live = readArray(liveReply).map(readString);
    const stopped = readArray(stoppedReply).map(readString);
    this.#known = new Map([...live, ...stopped].map((hash) => [hash, textOf(hash)]));
    // The same texts as before: whoever parsed one does not parse it again.
    this.#stopped = new Map(stopped.map((hash) => [hash, this.#stopped.get(hash) ?? stoppedDescription(textOf(hash))]));
    return { live: live.map(textOf), stopped: [...this.#stopped.values()] };
  }
}
