import { messageOf } from '../../errors.js';
import type { Agent } from '../agent/agent.js';
import type { AgentContext } from '../agent/agent-context.js';
import { DuplicateToolError } from '../errors.js';
import type { Tool } from '../tools/tool.js';
import { ToolList } from '../tools/tool-list.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentRegistry } from './agent-registry.js';

const toolName = 'delegate';

/**
 * Returns a function that lists an agent's tools when a run starts. With a registry they include `delegate`. The list is
 * rebuilt only if other agents were registered, or a group of tools changed, since the last run.
 *
 * @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError}
 */
export function createToolSource(
  agentName: string,
  tools: readonly Tool[],
  registry: AgentRegistry | undefined,
): () => ToolRegistry {
  let current = toRegistry(tools);
  if (registry !== undefined && current.get(toolName) !== undefined) throw new DuplicateToolError(toolName);
  const list = new ToolList(tools);
  let own = list.current;
  let offered = 0;
  return () => {
    const others = registry?.list().filter(({ name }) => name !== agentName) ?? [];
    // Agents are never removed, so the count tells whether there are new ones.
    if (others.length !== offered || list.current !== own) {
      offered = others.length;
      own = list.current;
      const rest = offered === 0 ? own : own.filter(({ name }) => name !== toolName);
      current = toRegistry(offered === 0 ? rest : [...rest, delegateTool(others)]);
    }
    return current;
  };
}

function toRegistry(tools: readonly Tool[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  return registry;
}

interface DelegateInput {
  readonly agentName: string;
  readonly input: string;
}

function delegateTool(others: readonly Agent[]): Tool {
  const who = others.map(({ name, description }) => `- ${name}${description === undefined ? '' : `: ${description}`}`);
  const tool: Tool<DelegateInput, unknown> = {
    name: toolName,
    description: 'Delegates a task to another agent and returns its answer. The other agent sees only the input.',
    parameters: {
      type: 'object',
      properties: {
        agentName: {
          type: 'string',
          enum: others.map(({ name }) => name),
          description: `Agent that performs the task:\n${who.join('\n')}`,
        },
        input: { type: 'string', description: 'The complete task, with all information that it requires' },
      },
      required: ['agentName', 'input'],
      additionalProperties: false,
    },
    execute: delegate,
  };
  delegateTools.add(tool);
  return tool;
}

const delegateTools = new WeakSet<Tool>();

/** Returns `true` for the tool `delegate`, whose execution is the run of another agent. */
export function isDelegateTool(tool: Tool | undefined): boolean {
  return tool !== undefined && delegateTools.has(tool);
}

/** Returns the answer, or the status, the error and the text so far of an agent that did not complete. */
async function delegate({ agentName, input }: DelegateInput, ctx: AgentContext): Promise<unknown> {
  const { status, output, error } = await ctx.delegate(agentName, input);
  if (status === 'completed') return output;
  return { agentName, status, ...(error && { error: messageOf(error) }), partialOutput: output };
}
