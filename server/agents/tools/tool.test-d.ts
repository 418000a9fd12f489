import { expectTypeOf } from 'vitest';
import type { AgentContext } from '../agent/agent-context.js';
import { createTool, type Tool } from './tool.js';

const parameters = { type: 'object' };

const weather = createTool({
  name: 'weather',
  description: 'Current weather of a city',
  parameters,
  execute: async ({ city }: { city: string }, ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<AgentContext>();
    return { city, celsius: 21 };
  },
});

// Input and output are inferred from `execute`.
expectTypeOf(weather).toEqualTypeOf<Tool<{ city: string }, { city: string; celsius: number }>>();
expectTypeOf(weather.execute).parameter(0).toEqualTypeOf<{ city: string }>();

// A tool with a narrower input fits into an agent's list of tools.
expectTypeOf(weather).toExtend<Tool>();

// @ts-expect-error `execute` is required
createTool({ name: 'weather', description: 'Current weather of a city', parameters });

// @ts-expect-error `description` is required
createTool({ name: 'weather', parameters, execute: async () => 1 });

createTool({
  name: 'weather',
  description: 'Current weather of a city',
  parameters,
  execute: async () => 1,
  // @ts-expect-error a misspelt option
  timeoutMS: 5,
});

createTool({
  name: 'weather',
  description: 'Current weather of a city',
  // @ts-expect-error `parameters` is a JSON Schema object
  parameters: 'object',
  execute: async () => 1,
});
