import type { FollowUpNames } from '../../events/definition/follow-ups.js';
import type { ResolvedRetry } from '../../events/definition/retry-policy.js';
import type { PayloadSchema } from '../../events/payloads/schema.js';

/** Function whose steps are recorded, and the outcome of its runs. A workflow is one. */
export interface RunDefinition {
  /** Name of the workflow, or type of the event. */
  readonly name: string;
  readonly version: number;
  readonly input?: PayloadSchema;
  readonly followUps: FollowUpNames;
  readonly run: (scope: never) => unknown;
  /** The run is an event's. */
  readonly isEvent?: true;
  /** Retry policy of the run. Recorded steps do not run again. @default one attempt */
  readonly retry?: ResolvedRetry | undefined;
}
