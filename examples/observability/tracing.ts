import { createAgent, createHub, createTool } from 'hubline';
import { scriptedProvider } from 'hubline/testing';
import { flushTelemetry } from './telemetry.js';

const carrier = createTool({
  name: 'ask_carrier',
  description: 'Returns the location of a parcel',
  parameters: { type: 'object', properties: { parcel: { type: 'string' } }, required: ['parcel'] },
  execute: async ({ parcel }: { parcel: string }) => ({ parcel, at: 'Bergen' }),
});
const agent = createAgent({
  name: 'tracker',
  systemPrompt: 'You say where parcels are.',
  provider: scriptedProvider([
    { toolCalls: [{ name: 'ask_carrier', arguments: { parcel: '7' } }] },
    'Your parcel is in Bergen.',
  ]),
  model: { model: 'gpt-4o-mini' },
  tools: [carrier],
});

const hub = createHub({ service: 'support' });
hub.event({ type: 'parcel.missed', handler: agent.asHandler(), onSuccess: 'customer.answered' });
hub.event({ type: 'customer.answered' });
await hub.start();
await hub.emit('parcel.missed', { input: 'Where is parcel 7?' });
await hub.stop();
await flushTelemetry();
