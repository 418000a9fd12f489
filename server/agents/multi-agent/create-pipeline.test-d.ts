import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { createEvent } from '../../hub/events/event.js';
import type { Hub } from '../../hub/hub.js';
import type { Agent, AgentHandlerResult } from '../agent/agent.js';
import { type AgentStep, createPipeline, type ParallelResults, type PipelineStep } from './create-pipeline.js';

declare const agent: Agent;
declare const hub: Hub;

const ticket = z.object({ text: z.string(), urgent: z.boolean().default(false) });

// The payload of a step is the input, or a result: `input` and `trigger` type the former.
const fromSchema = createPipeline({
  name: 'p',
  input: ticket,
  steps: [
    { agent, inputMapper: (payload) => ('text' in payload && typeof payload.text === 'string' ? payload.text : '') },
    { agent, when: (payload) => 'urgent' in payload && payload.urgent === true },
    { parallel: [{ agent }, { agent, when: (payload) => 'output' in payload }] },
    { agent },
  ],
});
expectTypeOf(await (await hub.startWorkflow(fromSchema, { text: 'x' })).result()).toEqualTypeOf<AgentHandlerResult>();
// @ts-expect-error the schema requires a text
void hub.startWorkflow(fromSchema, { urgent: true });

const opened = createEvent<{ subject: string }>({ type: 'opened' });
createPipeline({
  name: 'p',
  trigger: opened,
  steps: [{ agent, inputMapper: (payload) => ('subject' in payload ? String(payload.subject) : '') }],
});

const parallelLast = createPipeline({ name: 'p', steps: [{ agent }, { parallel: [{ agent }, { agent }] }] });
expectTypeOf(await (await hub.startWorkflow(parallelLast, 1)).result()).toEqualTypeOf<ParallelResults>();

const skippable = createPipeline({ name: 'p', steps: [{ agent }, { agent, when: () => false }] });
expectTypeOf(await (await hub.startWorkflow(skippable, 1)).result()).toBeUnknown();

declare const some: AgentStep[];
declare const any: PipelineStep[];
createPipeline({ name: 'p', steps: some });
createPipeline({ name: 'p', steps: any });

// @ts-expect-error when returns true or false
createPipeline({ name: 'p', steps: [{ agent, when: () => 'yes' }] });

// The result has the data of the last agent's schema.
declare const classifier: Agent<{ category: 'billing' | 'other' }>;
const typed = createPipeline({ name: 'p', steps: [{ agent: 'a' }, { agent: classifier }] });
expectTypeOf((await (await hub.startWorkflow(typed, 1)).result()).data).toEqualTypeOf<{
  category: 'billing' | 'other';
}>();
