import type { ErrorInfo } from '../../errors.js';
import type { Redactor } from '../../redaction.js';
import type { WaitResolution } from '../../transports/delivery.js';
import type { InboxRecord, OpenWait, RunRecord, RunStatus } from '../../transports/event-record.js';
import type { TurnFacts } from '../events/reported-agents.js';
import {
  entryOutput,
  isAttemptedKind,
  parseEntryKey,
  pathSeparator,
  readEntry,
  type StepEntry,
  type StepKind,
  slotOf,
} from './run-entry.js';

/**
 * Status of a step of a run. `retrying`: an attempt failed and the step is retried. `cancelled`: it waited when its run
 * ended.
 */
export type StepStatus = 'waiting' | 'active' | 'retrying' | 'completed' | 'failed' | 'cancelled';

/** Condition that a step waits for. */
export interface StepWait {
  /** Epoch milliseconds at which the wait began. */
  readonly since: number;
  /** Epoch milliseconds at which it ends by time. */
  readonly dueAt?: number;
  /** Event that it waits for. */
  readonly event?: { readonly type: string; readonly key?: string };
  /** Id of the child run that it waits for. */
  readonly runId?: string;
}

/** Step of a run. */
export interface StepIntrospection {
  /** Id of the step: its name, with an ordinal if the run has used the name before. */
  readonly name: string;
  readonly kind: StepKind;
  readonly status: StepStatus;
  /** Attempt at the step, from 1; absent before the first one. */
  readonly attempt?: number;
  /** Start of the first attempt, or of the wait, in epoch milliseconds. */
  readonly startedAt?: number;
  /** Epoch milliseconds. */
  readonly endedAt?: number;
  /** Duration of the last attempt, or of the wait, in milliseconds. */
  readonly durationMs?: number;
  /** Error of the step, or of its last failed attempt. */
  readonly error?: ErrorInfo;
  /** Condition that the step waits for; of a cancelled step the one that it waited for. */
  readonly waitsFor?: StepWait;
  /** Facts about the turn of an agent that the step records. */
  readonly turn?: TurnFacts;
  /** Recorded result, if it was asked for. */
  readonly output?: unknown;
  /** Arguments of the call of a tool that waits for an approval, as the model wrote them, if they were asked for. */
  readonly arguments?: unknown;
}

/** Run of a workflow. Contains neither its input nor, unless asked for, the outputs of its steps. */
export interface RunIntrospection {
  readonly id: string;
  readonly service: string;
  readonly requestId: string;
  /** `waiting` before the first step, `suspended` while the run waits and holds no process. */
  readonly status: RunStatus;
  /** Attempt at the current or failed step, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
  /** Version of the workflow that a waiting run needs, because a process with that version advanced it. */
  readonly neededVersion?: number;
  /** Epoch milliseconds; absent while the run is pending. */
  readonly endedAt?: number;
  readonly error?: { readonly name: string; readonly message: string };
  /** Events that a pending run keeps until its waits take them; absent if its definition has no `receives`. */
  readonly inbox?: InboxRecord;
  /** Steps that are recorded or wait, in the order of recording, then the remaining steps of a list. */
  readonly steps: readonly StepIntrospection[];
}

/** Options of `hub.getRun`. */
export interface RunQuery {
  /** Include the recorded results of the steps, which may be private. @default false */
  outputs?: boolean;
}

/** Step of a workflow with a list of steps. */
export interface ListedStep {
  readonly name: string;
  /** Steps of one stage run at the same time. */
  readonly stage?: number;
}

/** Creates the introspection of a run. @param listed steps of a workflow with a list of steps */
export function introspectRun(
  listed: readonly ListedStep[],
  record: RunRecord,
  redactor: Redactor,
  query: RunQuery = {},
): RunIntrospection {
  const { id, service, envelope, status, acceptedAt, endedAt, neededVersion } = record;
  const error = record.error && redactor.recorded(record.error);
  const steps = new Map<string, StepIntrospection>();
  const add = (step: StepIntrospection): void => {
    const slot = slotOf(step.kind, step.name);
    const { status: before, startedAt } = steps.get(slot) ?? {};
    // The record of an attempt has its own start alone.
    steps.set(slot, before === 'retrying' && startedAt !== undefined ? { ...step, startedAt } : step);
  };
  for (const [key, value] of record.checkpoints) {
    const step = introspectEntry(key, value, query);
    if (step !== undefined) add(step);
    else applyBookkeeping(key, value, envelope.replays, steps);
  }
  for (const wait of record.waits) {
    const step = introspectWait(wait, steps);
    if (endedAt === undefined) add(step);
    else if (step.status === 'waiting') add(cancelledStep(step, endedAt));
  }
  if (endedAt !== undefined) endRetries(steps);
  let current: ListedStep | undefined;
  for (const next of listed) {
    const known = steps.get(slotOf('run', next.name));
    if (known?.status === 'completed') continue;
    // Stages of a list run in sequence: the first step that is not completed belongs to the current one.
    current ??= next;
    if (known !== undefined) continue;
    const isRunning = status === 'active' && (next === current || (next.stage ?? -1) === current.stage);
    const isLast = status === 'failed' && next === current;
    add({ name: next.name, kind: 'run', status: isRunning || isLast ? status : 'waiting' });
  }
  const recorded = [...steps.values()];
  const all = inListedOrder(
    query.outputs === true ? recorded.map((step) => withArguments(step, recorded)) : recorded,
    listed,
  );
  const attempted = all.findLast((step) => step.attempt !== undefined && step.status !== 'completed');
  return {
    id,
    service,
    requestId: envelope.requestId,
    status,
    attempt: attempted?.attempt ?? 1,
    acceptedAt,
    ...(neededVersion !== undefined && { neededVersion }),
    ...(endedAt !== undefined && { endedAt }),
    ...(record.inbox !== undefined && { inbox: record.inbox }),
    ...(error !== undefined && { error: { name: error.name, message: error.message } }),
    steps: all.map((step) => (step.error === undefined ? step : { ...step, error: redactor.recorded(step.error) })),
  };
}

/** Describes the step of a recorded entry; `undefined` for an entry that only the engine reads. */
export function introspectEntry(key: string, value: string, query: RunQuery = {}): StepIntrospection | undefined {
  const { role, id } = parseEntryKey(key);
  if (role === 'patches' || role === 'ended' || role === 'retry' || role === 'started') return undefined;
  // The event that asks for an approval and the stored conversation belong to steps that are shown.
  if (role === 'request' || role === 'memory') return undefined;
  if (isAttemptedKind(role) || role === 'attempt') {
    const entry = readEntry(value);
    const step = recordedStep(role === 'attempt' ? 'run' : role, id, entry);
    if (role === 'attempt') return { ...step, status: 'retrying' };
    const hasOutput = query.outputs === true && entry.error === undefined;
    return hasOutput ? { ...step, output: JSON.parse(entryOutput(value)) as unknown } : step;
  }
  // Recorded by the transport, or by the engine if the wait could not be created.
  const resolution = JSON.parse(value) as WaitResolution | StepEntry;
  return 'by' in resolution ? resolvedStep(role, id, resolution, query) : recordedStep(role, id, resolution);
}

/** Applies what the record says of a step beside its result: a retry began, or a replay runs the step again. */
function applyBookkeeping(key: string, value: string, replays: number, steps: Map<string, StepIntrospection>): void {
  const { role, id, generation, attempt } = parseEntryKey(key);
  if (role === 'ended' && generation < replays) steps.delete(JSON.parse(value) as string);
  if (role !== 'retry') return;
  const step = steps.get(slotOf('run', id));
  if (step !== undefined) steps.set(slotOf('run', id), { ...step, attempt: attempt + 1 });
}

function cancelledStep(step: StepIntrospection, endedAt: number): StepIntrospection {
  const { startedAt = endedAt } = step;
  return { ...step, status: 'cancelled', endedAt, durationMs: Math.max(0, endedAt - startedAt) };
}

/** Marks steps that waited for a retry when their run ended as failed. */
function endRetries(steps: Map<string, StepIntrospection>): void {
  for (const [slot, step] of steps) if (step.status === 'retrying') steps.set(slot, { ...step, status: 'failed' });
}

function recordedStep(kind: StepKind, name: string, entry: StepEntry): StepIntrospection {
  const { attempt, startedAt, durationMs, error, turn } = entry;
  const status = error === undefined ? 'completed' : 'failed';
  const times = { startedAt, endedAt: startedAt + durationMs, durationMs };
  return {
    name,
    kind,
    status,
    attempt,
    ...times,
    ...(error !== undefined && { error }),
    ...(turn !== undefined && { turn }),
  };
}

function resolvedStep(kind: StepKind, name: string, wait: WaitResolution, query: RunQuery): StepIntrospection {
  const times = { startedAt: wait.since, endedAt: wait.at, durationMs: wait.at - wait.since };
  if (wait.by === 'run' && wait.status === 'failed') {
    return { name, kind, status: 'failed', ...times, error: wait.error };
  }
  const output = wait.by === 'event' ? wait.payload : wait.by === 'run' ? wait.result : null;
  return { name, kind, status: 'completed', ...times, ...(query.outputs === true && { output }) };
}

/** Describes the step that waits. @param steps steps that are recorded, by slot */
export function introspectWait(
  wait: OpenWait,
  steps: ReadonlyMap<string, StepIntrospection> = new Map(),
): StepIntrospection {
  const { role, id: name } = parseEntryKey(wait.key);
  const { since, dueAt, event, runId } = wait;
  const waitsFor: StepWait = {
    since,
    ...(dueAt !== undefined && { dueAt }),
    ...(event !== undefined && { event: { type: event.type, ...(event.key !== undefined && { key: event.key }) } }),
    ...(runId !== undefined && { runId }),
  };
  if (role === 'sleep' || role === 'event' || role === 'invoke' || role === 'approval') {
    return { name, kind: role, status: 'waiting', startedAt: since, waitsFor };
  }
  const failed = steps.get(slotOf('run', name));
  return { name, kind: 'run', status: 'retrying', ...failed, attempt: (failed?.attempt ?? 1) + 1, waitsFor };
}

/** Answer of a model, as an agent records it. */
interface RecordedCalls {
  readonly answer?: { readonly toolCalls?: unknown };
  readonly calls?: unknown;
  readonly steps?: unknown;
}

/** Adds the arguments of the call that an approval is about: the answer of its turn has them. */
function withArguments(step: StepIntrospection, all: readonly StepIntrospection[]): StepIntrospection {
  if (step.kind !== 'approval') return step;
  const end = step.name.lastIndexOf(pathSeparator);
  const turn = all.find(({ kind, name }) => kind === 'model' && name === step.name.slice(0, Math.max(0, end)));
  const { answer, calls = answer?.toolCalls, steps }: RecordedCalls = Object(turn?.output);
  if (!Array.isArray(calls)) return step;
  const names: unknown[] = Array.isArray(steps) ? steps : calls.map((call) => Object(call).name);
  const call: { arguments?: unknown } = Object(calls[names.indexOf(step.name.slice(end + pathSeparator.length))]);
  if (typeof call.arguments !== 'string') return step;
  return { ...step, arguments: parseArguments(call.arguments) };
}

/** Returns the text itself if the model wrote no JSON. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function inListedOrder(
  steps: readonly StepIntrospection[],
  listed: readonly ListedStep[],
): readonly StepIntrospection[] {
  if (listed.length === 0) return steps;
  // The steps inside a step of the list come before it, as they are recorded.
  const position = ({ name, kind }: StepIntrospection): number =>
    kind === 'run'
      ? listed.findIndex((step) => name === step.name) + 0.5
      : listed.findIndex((step) => name.startsWith(step.name + pathSeparator));
  const positions = new Map(steps.map((step) => [step, position(step)]));
  return [...steps].sort((a, b) => (positions.get(a) ?? 0) - (positions.get(b) ?? 0));
}
