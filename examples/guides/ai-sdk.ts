import type { LanguageModelV3 } from '@ai-sdk/provider';
import { generateText, stepCountIs, tool } from 'ai';
import { createEvent, createHub, createWorkflow, type Hub, type HubOptions } from 'hubline';
import {
  asLanguageModel,
  durableHandler,
  durableModel,
  durableTools,
  fallbackProvider,
  type ModelProvider,
  toolCallOf,
} from 'hubline/agents';
import { z } from 'zod';

/** Systems that the tools call. */
export interface Airline {
  search(to: string): Promise<{ flight: string; departs: Date }[]>;
  book(flight: string, idempotencyKey: string): Promise<string>;
}

const wanted = z.object({ to: z.string() });
const questionAsked = createEvent({ type: 'question.asked', schema: z.object({ question: z.string() }) });

/** Creates a hub on which functions of the AI SDK survive a crash of their process. */
export function createTravel(vendor: LanguageModelV3, airline: Airline, options: HubOptions = {}): Hub {
  const tools = {
    search: tool({
      description: 'Searches flights',
      inputSchema: wanted,
      execute: ({ to }) => airline.search(to),
    }),
    book: tool({
      description: 'Books a flight',
      inputSchema: z.object({ flight: z.string() }),
      execute: ({ flight }, call) => airline.book(flight, toolCallOf(call).callKey),
    }),
  };
  const hub = createHub({ service: 'travel', ...options });
  const journey = createWorkflow({
    name: 'journey',
    input: wanted,
    run: async (ctx) => {
      const { text } = await generateText({
        model: durableModel(vendor, ctx, { name: 'planner', tokenBudget: 50_000 }),
        tools: durableTools(tools, ctx, { book: { retryable: false } }),
        system: 'You plan a journey, and book its flight.',
        prompt: `I want to go to ${ctx.input.to}.`,
        stopWhen: stepCountIs(10),
      });
      await ctx.step.sleep('cooling-off', 1_000);
      return text;
    },
  });
  hub.workflow(journey);
  hub.event(questionAsked, {
    retry: { maxAttempts: 5 },
    onSuccess: 'question.answered',
    handler: durableHandler(async (ctx) => {
      const model = durableModel(vendor, ctx, { name: 'clerk' });
      const { text } = await generateText({ model, prompt: ctx.payload.question });
      return text;
    }),
  });
  hub.event({ type: 'question.answered' });
  return hub;
}

/** Asks the first provider, and the second one while the first fails. */
export async function describeProduct(first: ModelProvider, second: ModelProvider, product: string): Promise<string> {
  const provider = fallbackProvider([{ provider: first }, { provider: second, model: { model: 'gpt-4o-mini' } }]);
  const model = asLanguageModel(provider, 'claude-haiku-4-5', { retry: { maxAttempts: 2 } });
  const { text } = await generateText({ model, prompt: `Describe ${product}.` });
  return text;
}
