import { viewPath } from '../routing/route.js';

/** Event type or workflow step that runs an agent. */
export interface AgentUse {
  readonly label: string;
  /** Hash of its view, without a query. */
  readonly path: string;
}

/** Event types and workflows of a hub, which may run agents. */
export interface AgentRunners {
  readonly events: Iterable<{ readonly type: string; readonly agent?: { readonly name: string } }>;
  readonly workflows: readonly {
    readonly name: string;
    readonly steps: readonly { readonly name: string; readonly agent?: string }[];
  }[];
}

/** Returns the event types and workflow steps that run an agent. */
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
