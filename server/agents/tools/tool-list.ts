import type { Tool } from './tool.js';
import { groupOf, type ToolGroup } from './tool-group.js';

/** Tools of one group within the tools of an agent. */
interface Members {
  readonly group: ToolGroup;
  /** Names that the agent was given; `undefined` if it was given the whole group, so that it receives new tools too. */
  readonly names: ReadonlySet<string> | undefined;
}

/**
 * The tools that an agent was given, as they are now: a tool of a group is replaced by its latest version, and left out
 * if the group no longer has it.
 */
export class ToolList {
  readonly #given: readonly Tool[];
  readonly #members: ReadonlyMap<ToolGroup, Members>;
  #seen: readonly (readonly Tool[])[];
  #current: readonly Tool[];

  constructor(given: readonly Tool[]) {
    this.#given = [...given];
    const groups = new Set(given.map((tool) => groupOf(tool)).filter((group) => group !== undefined));
    this.#members = new Map([...groups].map((group) => [group, membersOf(group, given)]));
    this.#seen = [...groups].map(({ tools }) => tools);
    this.#current = this.#given;
  }

  /** Returns the current tools: the same array until a group changes. */
  get current(): readonly Tool[] {
    if (this.#members.size === 0) return this.#given;
    const now = [...this.#members.keys()].map(({ tools }) => tools);
    if (now.some((tools, index) => tools !== this.#seen[index])) {
      this.#seen = now;
      this.#current = this.#expand();
    }
    return this.#current;
  }

  #expand(): readonly Tool[] {
    const own = this.#given.filter((tool) => groupOf(tool) === undefined);
    const names = new Set(own.map(({ name }) => name));
    const tools = [...own];
    for (const { group, names: wanted } of this.#members.values()) {
      for (const tool of group.tools) {
        // A server must neither replace a tool of the agent nor make its next run fail with a name that is taken.
        if (names.has(tool.name) || wanted?.has(tool.name) === false) continue;
        names.add(tool.name);
        tools.push(tool);
      }
    }
    return tools;
  }
}

function membersOf(group: ToolGroup, given: readonly Tool[]): Members {
  const own = given.filter((tool) => groupOf(tool) === group);
  const isWhole = group.tools.every((tool) => own.includes(tool));
  return { group, names: isWhole ? undefined : new Set(own.map(({ name }) => name)) };
}
