import type {
  AgentRunIntrospection,
  AgentRunsBody,
  ErrorsBody,
  ListedRun,
  PlacedRun,
  ProcessesBody,
  RunListBody,
  ScheduleOutlook,
  SchedulesBody,
  TaggedBody,
  WaitIntrospection,
  WaitsBody,
  WorkflowRunsBody,
} from '../../server/dashboard/protocol.js';
import { errorGroup, eventSummary } from './decode-event.js';
import { runFields as recordedRun } from './decode-introspection.js';
import { reachedSteps, step, usage } from './decode-step.js';
import { array, boolean, type Decoder, number, object, optional, string } from './decoder.js';

/** Parts of the body of `GET /api/introspection?view=waits` that the page reads. */
export type Waits = Omit<WaitsBody, 'protocol'>;

/** Parts of the body of `GET /api/introspection?view=processes` that the page reads. */
export type Processes = Omit<ProcessesBody, 'protocol' | 'processes'> & { readonly processes: readonly RunningHub[] };

/** Running hub. Of an event that runs alone, the page reads the id. */
export type RunningHub = Omit<ProcessesBody['processes'][number], 'isolated'> & {
  readonly isolated?: { readonly id: string };
};

/** Parts of the body of `GET /api/introspection?view=errors` that the page reads. */
export type Errors = Omit<ErrorsBody, 'protocol'>;

/** Parts of the body of `GET /api/introspection?view=schedules` that the page reads. */
export type Outlooks = Omit<SchedulesBody, 'protocol' | 'schedules'> & { readonly schedules: readonly Outlook[] };

/** Due times of a schedule, and the outcome of the last one. */
export type Outlook = Omit<ScheduleOutlook, 'last'> & { readonly last?: Outcome };

/** Event or run of a due time. */
export type Outcome = Omit<NonNullable<ScheduleOutlook['last']>, 'type' | 'endedAt'>;

/** Parts of the body of `GET /api/introspection?tag=` that the page reads. */
export type TaggedEvents = Omit<TaggedBody, 'protocol' | 'tag'>;

/** Run of an agent. The request of its event has its steps. */
export type AgentRun = Omit<AgentRunIntrospection, 'steps'>;

/** Parts of the body of `GET /api/introspection?agent=` that the page reads. */
export type AgentRuns = Omit<AgentRunsBody, 'protocol' | 'agent' | 'runs'> & { readonly runs: readonly AgentRun[] };

/** Parts of the body of `GET /api/introspection?workflow=` that the page reads. */
export type WorkflowRuns = Omit<WorkflowRunsBody, 'protocol' | 'workflow'>;

// A newer server may have kinds and states that this page does not know.
const runFields = { id: string, type: string, service: string, requestId: string };

const kind = string as Decoder<WaitIntrospection['kind']>;

export const waits: Decoder<Waits> = object<Waits>({
  now: number,
  waits: array(object<WaitIntrospection>({ ...runFields, kind, step })),
  approvals: number,
  suspended: number,
  isTruncated: boolean,
  truncated: array(object<Waits['truncated'][number]>({ kind, type: string })),
});

export const processes: Decoder<Processes> = object<Processes>({
  now: number,
  processes: array(
    object<RunningHub>({
      id: string,
      service: string,
      host: string,
      pid: number,
      process: optional(string),
      version: string,
      startedAt: number,
      active: number,
      slots: number,
      release: optional(string),
      heapBytes: optional(number),
      loopBusy: optional(number),
      isolated: optional(object<{ readonly id: string }>({ id: string })),
      handles: number,
    }),
  ),
  processCount: number,
  registrations: array(object<Processes['registrations'][number]>({ events: array(string), workflows: array(string) })),
});

export const errors: Decoder<Errors> = object<Errors>({ now: number, groups: array(errorGroup) });

export const outlooks: Decoder<Outlooks> = object<Outlooks>({
  now: number,
  schedules: array(
    object<Outlook>({
      service: string,
      name: string,
      storedId: optional(string),
      words: optional(string),
      dueAt: array(number),
      isDense: boolean,
      last: optional(
        object<Outcome>({
          id: string,
          kind: string as Decoder<'event'>,
          status: string as Decoder<'completed'>,
          runMs: optional(number),
          error: optional(object<{ name: string; message: string }>({ name: string, message: string })),
        }),
      ),
    }),
  ),
});

export const taggedEvents: Decoder<TaggedEvents> = object<TaggedEvents>({
  now: number,
  events: array(eventSummary),
  isTruncated: boolean,
});

export const agentRuns: Decoder<AgentRuns> = object<AgentRuns>({
  now: number,
  runs: array(
    object<AgentRun>({
      ...runFields,
      kind,
      step: string,
      status: string as Decoder<AgentRun['status']>,
      startedAt: number,
      lastAt: number,
      turns: number,
      toolCalls: number,
      usage,
      error: optional(object<NonNullable<AgentRun['error']>>({ name: string, message: string })),
    }),
  ),
});

/** Parts of the body of `GET /api/introspection?runs=` that the page reads. */
export type RunList = Omit<RunListBody, 'protocol' | 'workflow'>;

export const runList: Decoder<RunList> = object<RunList>({
  now: number,
  runs: array(object<Omit<ListedRun, 'neededVersion' | 'isDeadLetter'>>(recordedRun)),
  after: optional(string),
});

const placedRuns = array(object<Omit<PlacedRun, 'neededVersion'>>({ ...recordedRun, at: array(string) }));

export const workflowRuns: Decoder<WorkflowRuns> = object<WorkflowRuns>({
  now: number,
  runs: placedRuns,
  waiting: placedRuns,
  steps: reachedSteps,
  read: object<WorkflowRuns['read']>({ newest: number, failed: number, waiting: number }),
});
