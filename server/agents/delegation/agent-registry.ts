import { InvalidOptionError } from '../../errors.js';
import { type Agent, isAgent } from '../agent/agent.js';
import { DuplicateAgentError } from '../errors.js';

/**
 * Agents that can delegate to each other. Agents can be registered at any time; each run offers its model the agents
 * that are registered when the run starts.
 *
 * @example
 * const registry = createAgentRegistry();
 * registry.register(createAgent({ name: 'researcher', description: 'Finds facts', ... }));
 * const editor = createAgent({ name: 'editor', registry, ... });
 */
export class AgentRegistry {
  readonly #agents = new Map<string, Agent>();

  /** Registers an agent. @throws {InvalidOptionError | DuplicateAgentError} */
  register(agent: Agent): void {
    if (!isAgent(agent)) throw new InvalidOptionError('agent', 'an agent from createAgent', agent);
    if (this.#agents.has(agent.name)) throw new DuplicateAgentError(agent.name);
    this.#agents.set(agent.name, agent);
  }

  /** Returns the agent of this name, or `undefined`. */
  get(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** Returns `true` if an agent of this name is registered. */
  has(name: string): boolean {
    return this.#agents.has(name);
  }

  /** Returns all agents in order of registration. */
  list(): Agent[] {
    return [...this.#agents.values()];
  }
}

/** Creates an empty registry. */
export function createAgentRegistry(): AgentRegistry {
  return new AgentRegistry();
}
