import { InvalidOptionError } from '../errors.js';
import type { Agent } from './agent.js';
import { DuplicateAgentError } from './errors.js';
import { isAgent } from './is-agent.js';

/**
 * The agents that may delegate to each other. Agents may be registered at any time; each run offers its
 * model those registered by then.
 *
 * @example
 * const registry = createAgentRegistry();
 * registry.register(createAgent({ name: 'researcher', description: 'Finds facts', ... }));
 * const editor = createAgent({ name: 'editor', registry, ... });
 */
export class AgentRegistry {
  readonly #agents = new Map<string, Agent>();

  /** @throws {InvalidOptionError | DuplicateAgentError} */
  register(agent: Agent): void {
    if (!isAgent(agent)) throw new InvalidOptionError('agent', 'what createAgent returns', agent);
    if (this.#agents.has(agent.name)) throw new DuplicateAgentError(agent.name);
    this.#agents.set(agent.name, agent);
  }

  /** The agent of this name, where there is one. */
  get(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** Whether there is an agent of this name. */
  has(name: string): boolean {
    return this.#agents.has(name);
  }

  /** All agents, in the order of their registration. */
  list(): Agent[] {
    return [...this.#agents.values()];
  }
}

/** Makes an empty registry. */
export function createAgentRegistry(): AgentRegistry {
  return new AgentRegistry();
}
