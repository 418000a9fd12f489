import { createServer } from 'node:http';
import { createAgent, createDashboardHandler, createHub, createWorkflow, type RunCtx } from 'hubline';
import { scriptedProvider } from 'hubline/testing';

const hub = createHub();

const support = createAgent({
  name: 'support',
  systemPrompt: 'You answer customers, in one sentence.',
  // Answers from a script, offline. OpenAIProvider, AnthropicProvider and GeminiProvider ask a model.
  provider: scriptedProvider(['Your teapot leaves tomorrow.']),
  model: { model: 'script' },
});
const asked = hub.event<{ text: string }>({ type: 'ticket.opened', handler: support.asHandler() });

const fulfil = hub.workflow(
  createWorkflow({
    name: 'fulfil',
    run: async ({ input, step }: RunCtx<{ item: string }>) => {
      const parcel = await step.run('pack', () => `a box with a ${input.item}`, { retry: { maxAttempts: 3 } });
      await step.emit('ask', asked, { text: `When does my ${input.item} leave?` });
      await step.sleep('pick-up', 1_000);
      return `Shipped ${parcel}`;
    },
  }),
);
await hub.start();
const run = await hub.startWorkflow(fulfil, { item: 'teapot' });
console.log(await run.result());

const port = Number(process.env['PORT'] ?? 4000);
const dashboard = createDashboardHandler(hub, { allowedHosts: ['127.0.0.1', 'localhost'] });
createServer(dashboard).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
process.once('SIGTERM', () => hub.stop().then(() => process.exit(0)));
