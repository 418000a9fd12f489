import type { LanguageModelV3 } from '@ai-sdk/provider';
import { generateText, stepCountIs, ToolLoopAgent, tool } from 'ai';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createEvent } from '../../hub/events/event.js';
import type { Hub } from '../../hub/hub.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import type { ModelProvider } from '../model/model-provider.js';
import { fromLanguageModel } from '../providers/language-model.js';
import { asLanguageModel } from './as-language-model.js';
import { durableModel } from './durable-model.js';
import { durableTools } from './durable-tools.js';
import { durableHandler } from './recorded-calls.js';

declare const vendor: LanguageModelV3;
declare const provider: ModelProvider;
declare const hub: Hub;
const look = tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => ({ at }) });

test('models and tools keep their types, without casts', () => {
  createWorkflow({
    name: 'plan',
    input: z.object({ question: z.string() }),
    run: async (ctx) => {
      const model = durableModel(vendor, ctx);
      expectTypeOf(model).toExtend<LanguageModelV3>();
      const tools = durableTools({ look }, ctx, { look: { retryable: false } });
      expectTypeOf(tools.look).toEqualTypeOf(look);
      // @ts-expect-error no tool has this name
      durableTools({ look }, ctx, { book: {} });
      new ToolLoopAgent({ model, tools });
      const { steps } = await generateText({ model, tools, prompt: ctx.input.question, stopWhen: stepCountIs(2) });
      return steps.flatMap(({ toolResults }) => toolResults.map((result) => result.dynamic || result.output.at));
    },
  });
});

test('a durable handler has the payload of its event', () => {
  const asked = createEvent({ type: 'asked', schema: z.object({ question: z.string() }) });
  hub.event(asked, {
    handler: durableHandler(async (ctx) => {
      expectTypeOf(ctx.payload).toEqualTypeOf<{ question: string }>();
      return generateText({ model: durableModel(vendor, ctx), prompt: ctx.payload.question });
    }),
  });
});

test('a provider is a model of the AI SDK, and of Hubline again', () => {
  const model = asLanguageModel(provider, 'm');
  expectTypeOf(model).toExtend<LanguageModelV3>();
  fromLanguageModel(model);
});
