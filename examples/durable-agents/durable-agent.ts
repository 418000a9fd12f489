import { createHub, createWorkflow, type Hub, memoryTransport, type Transport } from 'hubline';
import { createAgent, createTool, type ModelProvider } from 'hubline/agents';

/** Creates a hub whose runs survive a crash of the process, on a transport that does. */
export function createTravelHub(
  provider: ModelProvider,
  book: (flight: string, idempotencyKey: string) => Promise<string>,
  transport: Transport = memoryTransport(),
): Hub {
  const agent = createAgent({
    name: 'travel',
    systemPrompt: 'You plan a journey, and book its flights.',
    provider,
    model: { model: 'claude-sonnet-4-5' },
    maxIterations: 30,
    tools: [
      createTool({
        name: 'book',
        description: 'Books a flight',
        parameters: { type: 'object', properties: { flight: { type: 'string' } }, required: ['flight'] },
        execute: ({ flight }: { flight: string }, ctx) => book(flight, ctx.callKey),
      }),
    ],
  });
  const hub = createHub({ service: 'travel', transport });
  hub.event({ type: 'journey.requested', handler: agent.asHandler(), retry: { maxAttempts: 5 } });
  hub.workflow(
    createWorkflow({
      name: 'journey',
      trigger: 'journey.wanted',
      run: async (ctx) => {
        const { output, status } = await agent.run(JSON.stringify(ctx.input), { hubCtx: ctx });
        await ctx.step.sleep('cooling-off', 86_400_000);
        return { output, status };
      },
    }),
  );
  hub.event({ type: 'journey.wanted' });
  return hub;
}
