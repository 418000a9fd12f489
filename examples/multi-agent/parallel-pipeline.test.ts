import { createHub } from 'hubline';
import { createAgent } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, onTestFinished, test } from 'vitest';
import { createInquiryPipeline } from './parallel-pipeline.js';

async function answer(inquiry: { text: string; isPress: boolean }) {
  const asked: string[] = [];
  const agent = (name: string, output: string) =>
    createAgent({
      name,
      systemPrompt: '',
      model: { model: 'm' },
      provider: scriptedProvider([
        ({ messages }) => {
          asked.push(`${name} < ${messages.at(-1)?.content}`);
          return output;
        },
      ]),
    });
  const agents = {
    orders: agent('orders', 'two orders'),
    manual: agent('manual', 'page 7'),
    writer: agent('writer', 'See page 7.'),
    lawyer: agent('lawyer', 'See page 7, without liability.'),
  };
  const hub = createHub();
  const pipeline = hub.workflow(createInquiryPipeline(agents, () => inquiry.isPress));
  await hub.start();
  onTestFinished(async () => void (await hub.stop()));
  const run = await hub.startWorkflow(pipeline, inquiry);
  return { result: await run.result(), asked };
}

test('a customer: both researchers run, the lawyer does not', async () => {
  const { result, asked } = await answer({ text: 'It leaks', isPress: false });
  expect(result).toMatchObject({ output: 'See page 7.' });
  expect(asked).toEqual([
    'orders < It leaks',
    'manual < It leaks',
    'writer < {"orders":"two orders","manual":"page 7"}',
  ]);
});

test('the press: orders are not searched, and the lawyer checks the answer', async () => {
  const { result, asked } = await answer({ text: 'Does it leak?', isPress: true });
  expect(result).toMatchObject({ output: 'See page 7, without liability.' });
  expect(asked).toEqual(['manual < Does it leak?', 'writer < {"manual":"page 7"}', 'lawyer < See page 7.']);
});
