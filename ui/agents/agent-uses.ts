import { viewPath } from '../routing/route.js';

/** Where a hub runs an agent. */
export interface AgentUse {
  readonly label: string;
  /** The hash of the place, without a query. */
  readonly path: string;
}

/** What can run agents: parts of a hub's introspection. */
export interface AgentRunners {
  readonly events: Iterable<{ readonly type: string; readonly agent?: { readonly name: string } }>;
  readonly workflows: readonly {
    readonly name: string;
    readonly steps: readonly { readonly name: string; readonly agent?: string }[];
  }[];
}

/** The event types and the steps of workflows that an agent runs for. */
export function agentUses(name: string, { events, workflows }: AgentRunners): readonly AgentUse[] {
  const uses: AgentUse[] = [];
  for (const { type, agent } of events) {
    if (agent?.name === name) uses.push({ label: type, path: viewPath('events', type) });
  }
  for (const workflow of workflows) {
    for (const step of workflow.steps) {
      if (step.agent === name) {
        uses.push({ label: `${workflow.name}: ${step.name}`, path: viewPath('workflows', workflow.name) });
      }
    }
  }
  return uses;
}
