import type { ConnectedProcess } from '../../transport.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readString } from '../scripts/reply.js';
import { Script, type ScriptArgument } from '../scripts/script.js';

/**
 * `readDescriptions()` takes the hashes that the caller knows, and returns the hash of each live process, the
 * descriptions that the caller does not know, and the ids of the processes.
 */
export const descriptions: LuaFragment = new LuaFragment(
  `
local function readDescriptions()
  local known, hashes, texts, processes = {}, {}, {}, {}
  for _ = 1, takeNumber() do known[take()] = true end
  for _, process in ipairs(call('ZRANGE', key('registrations'), 0, -1)) do
    local hash = call('GET', key('process', process))
    if hash and known[hash] then
      hashes[#hashes + 1] = hash
      processes[#processes + 1] = process
    elseif hash then
      local text = call('GET', key('description', hash))
      if text then
        known[hash] = true
        hashes[#hashes + 1] = hash
        processes[#processes + 1] = process
        texts[#texts + 1] = hash
        texts[#texts + 1] = text
      end
    end
  end
  return { hashes, texts }, processes
end
`,
  [prelude],
);

export const descriptionsScript: Script = new Script({
  name: 'descriptions',
  access: 'reads',
  purpose: 'Reads the descriptions of all live processes.',
  argv: 'number of hashes, hash that the caller knows...',
  reply: 'the hash of each live process, then a list of hashes and descriptions that the caller does not know',
  includes: [prelude, descriptions],
  lua: `
return (readDescriptions())
`,
});

export const processesScript: Script = new Script({
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

/** Arguments for `readDescriptions`, and the reader of its reply. */
export interface DescriptionsQuery {
  readonly args: readonly ScriptArgument[];
  /** Returns a description per live process. */
  read(reply: unknown): readonly string[];
}

/** Returns the reply of {@link processesScript}. */
export function readProcesses({ read }: DescriptionsQuery, reply: unknown): readonly ConnectedProcess[] {
  const [found, stateReply] = readArray(reply);
  const states = readArray(stateReply).map(readString);
  return read(found).map((description, index) => ({ description, state: states[index] ?? '' }));
}

/** Cache of the descriptions of all processes on one Redis: known ones are not read again. */
export class Fleet {
  #known: ReadonlyMap<string, string> = new Map();

  query(): DescriptionsQuery {
    // A reply leaves out what the query named as known, even if another reply has arrived since.
    const known = this.#known;
    return { args: [known.size, ...known.keys()], read: (reply) => this.#read(reply, known) };
  }

  #read(reply: unknown, known: ReadonlyMap<string, string>): readonly string[] {
    const [hashes, newTexts] = readArray(reply);
    const texts = new Map([...known, ...readHash(newTexts)]);
    const live = readArray(hashes).map((value) => {
      const hash = readString(value);
      return { hash, text: texts.get(hash) ?? '{}' };
    });
    this.#known = new Map(live.map(({ hash, text }) => [hash, text]));
    return live.map(({ text }) => text);
  }
}
