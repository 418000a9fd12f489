import { expect, test } from 'vitest';
import { deferred, testHub } from '../hub/hub.fixture.js';
import { createWorkflow } from '../hub/runs/workflow.js';
import { newBlobs } from '../transports/blobs/blobs.fixture.js';
import { ConversationMemory } from './memory/conversation-memory.js';
import { type InputPart, MediaResult, type Part } from './model/part.js';
import { ProviderError } from './model/provider-error.js';
import { createPipeline } from './multi-agent/create-pipeline.js';
import { agentOf } from './scripted-agent.fixture.js';
import { createTool } from './tools/tool.js';

const imageOf = (letter: string): Part => ({ type: 'image', mediaType: 'image/png', data: letter.repeat(4_000) });
const down = new ProviderError('down', { provider: 'p', statusCode: 503, retryable: true });

test('a run keeps the media of its payload and of its tools over attempts, as blobs if they are large', async () => {
  const { store, values } = newBlobs();
  const { hub, clock } = testHub({ blobs: store, blobsAboveBytes: 2_000 });
  let executed = 0;
  const chart = createTool({
    name: 'chart',
    description: '',
    parameters: {},
    execute: async () => {
      executed++;
      return new MediaResult([
        { type: 'text', text: 'A chart' },
        { ...imageOf('B'), data: Buffer.alloc(3_000) } as InputPart,
      ]);
    },
  });
  const { agent, provider } = agentOf([{ toolCalls: [{ name: 'chart' }] }, down, 'a cat and a chart'], {
    tools: [chart],
  });
  hub.event({ type: 'asked', handler: agent.asHandler(), retry: { maxAttempts: 2, initialDelayMs: 10 } });
  await hub.start();
  const requestId = 'r';
  await hub.emit('asked', { input: [{ type: 'text', text: 'Compare' }, imageOf('A')] }, { requestId });
  await clock.advance(10);
  await clock.settle();
  expect(await hub.metrics('asked')).toMatchObject({ completed: 1, retried: 1 });
  expect(executed).toBe(1);
  const media = { type: 'image', mediaType: 'image/png', data: 'AAAA'.repeat(1_000) };
  for (const call of provider.calls.slice(1)) {
    expect(call.messages[1]).toMatchObject({
      content: 'Compare',
      parts: [{ type: 'text', text: 'Compare' }, imageOf('A')],
    });
    expect(call.messages[3]).toMatchObject({ role: 'tool', parts: [{ type: 'text', text: 'A chart' }, media] });
  }
  // The payload and the result.
  expect(values.size).toBe(2);
  await hub.erase({ requestId });
  expect(values.size).toBe(0);
});

test('a run stays in its process while a blob of its input is read', async () => {
  const { hub, clock } = testHub();
  const opened = deferred();
  class SlowBlob extends Blob {
    override async arrayBuffer(): Promise<ArrayBuffer> {
      await opened.promise;
      return super.arrayBuffer();
    }
  }
  const blob = new SlowBlob([Buffer.alloc(3)], { type: 'image/png' });
  const { agent, provider } = agentOf(['a cat']);
  const workflow = hub.workflow(
    createWorkflow({
      name: 'sees',
      run: async (ctx) => {
        const seen = agent.run([{ type: 'image', blob }], { hubCtx: ctx });
        const [{ output }] = await Promise.all([seen, ctx.step.sleep('pause', 1_000)]);
        return output;
      },
    }),
  );
  await hub.start();
  const { runId } = await hub.startWorkflow(workflow, 'go');
  await clock.settle();
  opened.resolve();
  // Before the end of the pause, for which a run at rest would leave.
  await expect.poll(() => provider.calls.length).toBe(1);
  expect(provider.calls[0]?.messages[1]?.parts).toEqual([{ type: 'image', mediaType: 'image/png', data: 'AAAA' }]);
  await clock.settle();
  await clock.advance(1_000);
  expect(await hub.workflowHandle('sees', runId).result()).toBe('a cat');
  provider.assertDone();
});

test('a step of a pipeline maps its payload to parts', async () => {
  const { hub } = testHub();
  const { agent, provider } = agentOf(['a cat']);
  const own = { ...agent, name: 'own', run: agent.run.bind(agent), asHandler: agent.asHandler.bind(agent) };
  const inputMapper = (): InputPart[] => [imageOf('A')];
  hub.workflow(createPipeline({ name: 'sees', steps: [{ agent, inputMapper }] }));
  hub.workflow(createPipeline({ name: 'fails', steps: [{ agent: own, inputMapper }] }));
  await hub.start();
  const seen = await hub.startWorkflow('sees', 'x');
  expect(await hub.workflowHandle('sees', seen.runId).result()).toMatchObject({ output: 'a cat' });
  expect(provider.calls[0]?.messages[1]?.parts).toEqual([imageOf('A')]);
  const failed = await hub.startWorkflow('fails', 'x');
  await expect(hub.workflowHandle('fails', failed.runId).result()).rejects.toThrow('createAgent did not create it');
});

test('a conversation keeps media', async () => {
  const { hub } = testHub();
  const memory = new ConversationMemory({ transport: hub.transport });
  const { agent, provider } = agentOf(['a cat', 'a cat again'], { memory });
  await agent.run([imageOf('A')], { conversationId: 'c' });
  await agent.run('And now?', { conversationId: 'c' });
  expect(provider.calls[1]?.messages[1]).toEqual({ role: 'user', content: '', parts: [imageOf('A')] });
});
