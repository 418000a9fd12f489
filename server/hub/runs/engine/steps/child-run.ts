import { deriveId } from '../../../../transports/derive-id.js';
import type { Envelope, RunWait } from '../../../../transports/transport.js';
import { DepthLimitError, WorkflowCancelledError } from '../../../errors.js';
import { type HandlerHost, maxDepth } from '../../../events/attempts/outcome-recorder.js';
import { createFollowUps } from '../../../events/follow-ups/create-follow-ups.js';
import type { AnyWorkflow } from '../../definition/workflow.js';

/** Creates the wait of `step.invoke`, which starts the child run. @throws if the input does not fit its schema */
export async function createChildWait(
  key: string,
  child: AnyWorkflow,
  input: unknown,
  parent: Envelope,
  host: HandlerHost,
): Promise<RunWait> {
  if (parent.depth >= maxDepth) throw new DepthLimitError(child.name, parent.depth + 1, maxDepth);
  const draft = await host.draftRun(parent, child.name, input);
  const id = deriveId(host.transport.service, parent.id, key);
  const run = { ...draft, body: draft.body, id, parent: { type: parent.type, id: parent.id, wait: key } };
  const error = host.redactor.info(new WorkflowCancelledError(child.name, id, 'its parent run was cancelled'));
  const onCancel = createFollowUps(host.transport.service, child.followUps, run, { status: 'failed', error });
  return { key, run, ...(onCancel.length > 0 && { onCancel }) };
}
