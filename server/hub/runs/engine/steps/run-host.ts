import type { HandlerHost } from '../../../events/attempts/outcome-recorder.js';
import type { EventRef } from '../../../references/event-ref.js';
import type { WorkflowRef } from '../../../references/workflow-ref.js';
import type { AnyWorkflow } from '../../definition/workflow.js';

/** The part of the hub that advancing a run needs. */
export interface RunHost extends HandlerHost {
  /** Returns the type of a registered event. @throws {UnknownEventError} */
  eventType(event: EventRef<never, unknown> | string): string;
  /** Returns a registered workflow. @throws {UnknownWorkflowError} */
  findWorkflow(workflow: WorkflowRef<never> | string): AnyWorkflow;
}
