import type { Agent } from './agent.js';
import type { AgentContext } from './agent-context.js';
import type { AgentRegistry } from './agent-registry.js';
import { AgentRunError, DuplicateToolError } from './errors.js';
import type { Tool } from './tool.js';
import { ToolRegistry } from './tool-registry.js';

const toolName = 'delegate';

/**
 * Returns what gives an agent's tools at the time of a run: with a registry they include `delegate`,
 * made anew only when other agents have been registered since.
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
    // Agents are registered and never removed, so that their number tells whether there are new ones.
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
    description: 'Hands a task to another agent and returns its answer. The other agent sees nothing but the input.',
    parameters: {
      type: 'object',
      properties: {
        agentName: {
          type: 'string',
          enum: others.map(({ name }) => name),
          description: `Who is to do it:\n${who.join('\n')}`,
        },
        input: { type: 'string', description: 'The whole task, with everything that is needed to do it' },
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
