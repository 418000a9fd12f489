import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { createEvent } from '../../hub/events/event.js';
import { createWorkflow } from '../../hub/runs/workflow.js';
import type { ModelAgent } from '../agent/agent.js';
import type { ToolContext } from '../agent/agent-context.js';
import type { ApprovalDecided, ApprovalRequest } from '../agent/approval.js';
import { createTool, type Tool } from './tool.js';

const parameters = { type: 'object' };

const weather = createTool({
  name: 'weather',
  description: 'Current weather of a city',
  parameters,
  execute: async ({ city }: { city: string }, ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<ToolContext>();
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

// The input is inferred from a schema, with its transforms and defaults; the model writes what the schema takes.
const schema = z.object({ city: z.string(), days: z.coerce.number<string>().default(1) });
const forecast = createTool({
  name: 'forecast',
  description: 'Forecast of a city',
  parameters: schema,
  execute: ({ city, days }, ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<ToolContext>();
    expectTypeOf(city).toBeString();
    expectTypeOf(days).toBeNumber();
    return [city];
  },
});
expectTypeOf(forecast).toEqualTypeOf<Tool<{ city: string; days?: string | undefined }, string[]>>();
expectTypeOf(forecast).toExtend<Tool>();

// A schema without a JSON Schema of its own has one beside it.
const withoutJson = {
  '~standard': { version: 1, vendor: 'v', validate: (value: unknown) => ({ value: String(value) }) },
};
createTool({
  name: 'other',
  description: '',
  parameters: withoutJson as StandardSchemaV1<unknown, string>,
  jsonSchema: { type: 'string' },
  execute: (text) => expectTypeOf(text).toBeString(),
});

createTool({
  name: 'wrong',
  description: '',
  parameters: schema,
  // @ts-expect-error the schema has no such field
  execute: async ({ town }) => town,
});

// needsApproval receives the input of execute.
createTool({
  name: 'refund',
  description: '',
  parameters: z.object({ cents: z.string().transform(Number) }),
  needsApproval: ({ cents }) => {
    expectTypeOf(cents).toEqualTypeOf<number>();
    return cents > 100;
  },
  execute: ({ cents }) => cents,
});
createTool({
  name: 'refund',
  description: '',
  parameters: {},
  needsApproval: async ({ cents }, ctx) => cents > 100 && ctx.depth === 0,
  execute: async ({ cents }: { cents: number }) => cents,
});
// @ts-expect-error A rule returns a boolean.
createTool({ name: 'refund', description: '', parameters: {}, needsApproval: () => 'yes', execute: () => 1 });

// Approvals take the events that they name.
declare const asking: ModelAgent;
const requested = createEvent<ApprovalRequest>({ type: 'requested' });
const decided = createEvent<ApprovalDecided>({ type: 'decided', key: ({ approvalId }) => approvalId });
asking.asHandler({ approvals: { requested, decided } });
// @ts-expect-error The request has no number.
asking.asHandler({ approvals: { requested: createEvent<{ n: number }>({ type: 'other' }), decided } });
createWorkflow({
  name: 'w',
  run: async (ctx) => (await asking.run('x', { hubCtx: ctx, approvals: { requested, decided } })).output,
});
