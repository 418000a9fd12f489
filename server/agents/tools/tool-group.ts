import type { Tool } from './tool.js';

/** Tools of one origin, such as an MCP server, whose list can change between two runs. */
export interface ToolGroup {
  /** Current tools: the same array until the list changes. */
  readonly tools: readonly Tool[];
}

const groups = new WeakMap<Tool, ToolGroup>();

/** Records the group of a tool, for {@link groupOf}. Returns the tool. */
export function memberOf(group: ToolGroup, tool: Tool): Tool {
  groups.set(tool, group);
  return tool;
}

/** Returns the group of a tool. A copy of the tool belongs to none. */
export function groupOf(tool: Tool): ToolGroup | undefined {
  return groups.get(tool);
}
