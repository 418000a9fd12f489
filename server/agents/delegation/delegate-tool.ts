import type { Agent } from '../agent/agent.js';
import type { AgentContext } from '../agent/agent-context.js';
import { AgentRunError } from '../agent/agent-run-error.js';
import { DuplicateToolError } from '../errors.js';
import type { Tool } from '../tools/tool.js';
import { ToolRegistry } from '../tools/tool-registry.js';
import type { AgentRegistry } from './agent-registry.js';

const toolName = 'delegate';

/**
 * Returns a function that lists an agent's tools when a run starts. With a registry they include `delegate`, which is
 * rebuilt only if other agents were registered since the last run.
 *
 * @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError}
 */
export function createToolSource(
  agentName: string,
  tools: readonly Tool[],
  registry: AgentRegistry | undefined,
): () => ToolRegistry {
  const own = toRegistry(tools);
  if (registry === undefined) return () => own;
  if (own.get(toolName) !== undefined) throw new DuplicateToolError(toolName);
  let offered = 0;
  let current = own;
  return () => {
    const others = registry.list().filter(({ name }) => name !== agentName);
    // Agents are never removed, so the count tells whether there are new ones.
    if (others.length !== offered) {
      offered = others.length;
      current = toRegistry([...tools, delegateTool(others)]);
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
  const tool: Tool<DelegateInput, string> = {
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
  return tool;
}

async function delegate({ agentName, input }: DelegateInput, ctx: AgentContext): Promise<string> {
  const result = await ctx.delegate(agentName, input);
  if (result.status !== 'completed') throw new AgentRunError(result);
  return result.output;
}
