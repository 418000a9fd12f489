import { stoppedDescription } from '../../services.js';
import type { ConnectedProcess, FleetReader } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { prelude } from '../connection/keys.js';
import { readArray, readHash, readString } from '../connection/reply.js';
import { LuaFragment, Script, type ScriptArgument } from '../connection/script.js';
import { retainedDescriptions } from './retained-descriptions.js';

/**
 * `readDescriptions()` takes the hashes that the caller knows, and returns the hash of each live process, the
 * descriptions that the caller does not know, the hashes of the last processes of services that have no live one, and
 * the ids of the live processes.
 */
export const descriptions: LuaFragment = new LuaFragment(
  `
local function readDescriptions()
  local known, hashes, texts, stopped, processes, isLive = {}, {}, {}, {}, {}, {}
  for _ = 1, takeNumber() do known[take()] = true end
  local function isDescribed(hash)
    if known[hash] then return true end
    local text = call('GET', key('description', hash))
    if not text then return false end
    known[hash] = true
    texts[#texts + 1] = hash
    texts[#texts + 1] = text
    return true
  end
  for _, process in ipairs(call('ZRANGE', key('registrations'), 0, -1)) do
    local hash = call('GET', key('process', process))
    if hash then isLive[process] = true end
    if hash and isDescribed(hash) then
      hashes[#hashes + 1] = hash
      processes[#processes + 1] = process
    end
  end
  for _, hash in ipairs(stoppedDescriptions(isLive)) do
    if isDescribed(hash) then stopped[#stopped + 1] = hash end
  end
  return { hashes, texts, stopped }, processes
end
`,
  [prelude, retainedDescriptions],
);

const descriptionsScript: Script = new Script({
  name: 'descriptions',
  access: 'reads',
  purpose: 'Reads the descriptions of all live processes, and of the last ones of services without.',
  argv: 'number of hashes, hash that the caller knows...',
  reply:
    'the hash of each live process, a list of hashes and descriptions that the caller does not know, the hashes of the last processes of services without',
  includes: [prelude, descriptions],
  lua: `
return (readDescriptions())
`,
});

const processesScript: Script = new Script({
  name: 'processes',
  access: 'reads',
  purpose: 'Reads the descriptions and the states of all live processes.',
  argv: 'number of hashes, hash that the caller knows...',
  reply: 'the reply of descriptionsScript, and the state of each live process',
  includes: [prelude, descriptions],
  lua: `
local found, processes = readDescriptions()
local states = {}
for index, process in ipairs(processes) do states[index] = call('GET', key('state', process)) or '' end
return { found, states }
`,
});

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

/** Returns the reply of {@link processesScript}. */
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
    const { live, stopped } = read(await this.#commands.runScript(descriptionsScript, args));
    return [...live, ...stopped];
  }

  async processes(): Promise<readonly ConnectedProcess[]> {
    const query = this.query();
    return readProcesses(query, await this.#commands.runScript(processesScript, query.args));
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
