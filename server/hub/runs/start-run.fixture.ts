import { type TestHub, testHub } from '../hub.fixture.js';
import type { RunCtx } from './step.js';
import { createWorkflow, type HubWorkflow } from './workflow.js';
import type { WorkflowHandle } from './workflow-handle.js';

/** Starts a hub with a workflow `w` of the function, and a run of it. @param register registers more on the hub */
export async function startRun<TInput, TResult>(
  run: (ctx: RunCtx<TInput>) => TResult,
  input: TInput,
  register: (hub: TestHub['hub']) => void = () => {},
): Promise<TestHub & { handle: WorkflowHandle }> {
  const test = testHub();
  register(test.hub);
  const workflow: HubWorkflow<TInput> = createWorkflow({ name: 'w', run });
  test.hub.workflow(workflow);
  await test.hub.start();
  const handle = await test.hub.startWorkflow(workflow as HubWorkflow, input);
  await test.clock.settle();
  return { ...test, handle };
}

/** Returns the metrics of the workflow `w`. */
export async function countsOf({ hub }: TestHub): Promise<object | undefined> {
  return (await hub.introspect()).workflows.find(({ name }) => name === 'w')?.metrics;
}
