import { createHub, type Hub, HubError, type HubOptions } from 'hubline';
import { createAgent, type ModelProvider, type Tool } from 'hubline/agents';

/** Creates a hub whose agent works on an order for a while. */
export function createTravelDesk(provider: ModelProvider, tools: Tool[], options?: HubOptions): Hub {
  const hub = createHub(options);
  const agent = createAgent({
    name: 'travel',
    systemPrompt: 'You plan a journey, and book its flights.',
    provider,
    model: { model: 'claude-sonnet-4-5' },
    tools,
    maxIterations: 30,
  });
  hub.event({ type: 'journey.requested', handler: agent.asHandler({ publish: true }) });
  return hub;
}

/** Passes what a customer adds to the run that works for them; once it has ended, to a new run. */
export async function addToJourney(hub: Hub, runId: string, text: string, id: string): Promise<string> {
  try {
    await hub.send(runId, text, { id });
    return runId;
  } catch (error) {
    if (!HubError.is(error) || error.code !== 'ERR_RUN_ENDED') throw error;
    const next = await hub.emit('journey.requested', text, { dedupeId: id });
    return next.id;
  }
}
