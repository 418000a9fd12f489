import type {
  AgentRunIntrospection,
  AgentRunsBody,
  ProcessesBody,
  WaitIntrospection,
  WaitsBody,
} from '../../server/dashboard/protocol.js';
import { step, usage } from './decode-step.js';
import { array, boolean, type Decoder, number, object, optional, string } from './decoder.js';

/** Parts of the body of `GET /api/introspection?view=waits` that the page reads. */
export type Waits = Omit<WaitsBody, 'protocol'>;

/** Parts of the body of `GET /api/introspection?view=processes` that the page reads. */
export type Processes = Omit<ProcessesBody, 'protocol'>;

/** Parts of the body of `GET /api/introspection?agent=` that the page reads. */
export type AgentRuns = Omit<AgentRunsBody, 'protocol'>;

// A newer server may have kinds and states that this page does not know.
const runFields = { id: string, type: string, service: string, requestId: string };

export const waits: Decoder<Waits> = object<Waits>({
  now: number,
  waits: array(object<WaitIntrospection>({ ...runFields, kind: string as Decoder<WaitIntrospection['kind']>, step })),
  approvals: number,
  suspended: number,
  isTruncated: boolean,
});

export const processes: Decoder<Processes> = object<Processes>({
  now: number,
  processes: array(
    object<Processes['processes'][number]>({
      id: string,
      service: string,
      host: string,
      pid: number,
      version: string,
      startedAt: number,
      active: number,
      slots: number,
      handles: number,
    }),
  ),
  processCount: number,
  registrations: array(object<Processes['registrations'][number]>({ events: array(string), workflows: array(string) })),
});

export const agentRuns: Decoder<AgentRuns> = object<AgentRuns>({
  now: number,
  agent: string,
  runs: array(
    object<AgentRunIntrospection>({
      ...runFields,
      kind: string as Decoder<AgentRunIntrospection['kind']>,
      step: string,
      status: string as Decoder<AgentRunIntrospection['status']>,
      startedAt: number,
      lastAt: number,
      turns: number,
      toolCalls: number,
      usage,
      error: optional(object<NonNullable<AgentRunIntrospection['error']>>({ name: string, message: string })),
      steps: array(step),
    }),
  ),
});
