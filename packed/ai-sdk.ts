/**
 * A user's program with the AI SDK: a model of the one is a model of the other, in both directions and without casts.
 *
 * @module
 */
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { generateText } from 'ai';
import { createHub, createWorkflow, type RunCtx } from 'hubline';
import { asLanguageModel, createAgent, durableModel, fromLanguageModel } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';

const model: LanguageModelV3 = asLanguageModel(scriptedProvider(['one', 'two', 'three']), 'rehearsed');
const { text } = await generateText({ model, prompt: 'Count.' });

const provider = fromLanguageModel(model);
const agent = createAgent({ name: 'counter', systemPrompt: 'You count.', provider, model: { model: 'rehearsed' } });
const { output } = await agent.run('Go on.');

const hub = createHub({ service: 'counting' });
const counting = hub.workflow(
  createWorkflow({
    name: 'counting',
    run: async (ctx: RunCtx<{ prompt: string }>) => {
      const recorded: LanguageModelV3 = durableModel(model, ctx);
      const answer = await generateText({ model: recorded, prompt: ctx.input.prompt });
      return answer.text;
    },
  }),
);
await hub.start();
const run = await hub.startWorkflow(counting, { prompt: 'Go on.' });
console.log(JSON.stringify([text, output, await run.result()]));
await hub.stop();
