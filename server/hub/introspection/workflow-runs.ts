import { checkName } from '../../options.js';
import type { Redactor } from '../../redaction.js';
import { workflowType } from '../../transports/delivery.js';
import type { EventRecord, RunRecord } from '../../transports/event-record.js';
import type { TransportManager } from '../../transports/transport.js';
import { pathSeparator, type StepKind } from '../runs/run-entry.js';
import {
  introspectRun,
  type ListedStep,
  type RunIntrospection,
  type StepIntrospection,
} from '../runs/run-introspection.js';

/** Recent runs of a workflow, and the graph of their steps. Result of `hub.workflowRuns()`. */
export interface WorkflowRuns {
  /** The 50 newest runs and the 50 that failed last, by acceptance, newest first. Each with its last 100 steps. */
  readonly runs: readonly PlacedRun[];
  /** Runs that wait, those that wait longest first, at most 100, with the steps that wait. */
  readonly waiting: readonly PlacedRun[];
  /** Steps that the runs reached, by stage. At most 100. */
  readonly steps: readonly ReachedStep[];
  /** Numbers of runs that were read. */
  readonly read: {
    /** Newest runs, at most 50. */
    readonly newest: number;
    /** Runs that failed last, at most 50. */
    readonly failed: number;
    /** Runs that wait, at most 1,000. */
    readonly waiting: number;
  };
}

/** Run with its place in the graph. */
export interface PlacedRun extends RunIntrospection {
  /** Names of the steps of the graph in which the run waits or failed. */
  readonly at: readonly string[];
}

/**
 * Step of a workflow, as its recent runs show it: elements of a `step.map`, repetitions and the steps inside an agent's
 * run are one step.
 */
export interface ReachedStep {
  readonly name: string;
  readonly kind: StepKind | 'agent';
  /** Place in the graph, from 0: a step of a later stage never starts before one of an earlier stage has ended. */
  readonly stage: number;
  /** Number of the read runs, waiting ones excluded, that reached the step. */
  readonly reached: number;
  /** Highest number of elements or repetitions in one run. */
  readonly times: number;
  /** A run may have had more: of a run with many steps, the latest were read. */
  readonly isCut?: boolean;
  /** Number of runs that wait in the step now, of those that were read. */
  readonly waiting: number;
  /** Number of the runs that failed last that failed in the step. */
  readonly failed: number;
  /** Part of the newest runs that failed in the step, of those that ended it; absent if there are none. */
  readonly failureRatio?: number;
  /** Median duration of the step in the newest runs that completed it, in milliseconds; absent if there are none. */
  readonly medianMs?: number;
}

const maxWaitingRuns = 1_000;
const maxListedWaiting = 100;
const maxExamples = 10;
const maxSteps = 100;

/**
 * Reads the recent runs of a workflow with two reads of the transport, whatever the number of its runs, and at most ten
 * more for steps that only runs that wait have reached.
 *
 * @throws {InvalidOptionError}
 */
export async function readWorkflowRuns(
  workflow: string,
  listed: readonly ListedStep[],
  { lookup, runs: store }: Pick<TransportManager, 'lookup' | 'runs'>,
  redactor: Redactor,
): Promise<WorkflowRuns> {
  checkName(workflow, 'workflow of workflowRuns');
  const type = workflowType(workflow);
  const [{ newest, failed }, [waitingRecords = []]] = await Promise.all([
    lookup.recent(type),
    store.waiting([type], maxWaitingRuns),
  ]);
  const known = new Map<string, RunIntrospection>();
  const read = (records: readonly EventRecord[]): readonly RunIntrospection[] =>
    records.map((record) => {
      const run = known.get(runKey(record)) ?? introspectRecord(record, listed, redactor);
      known.set(runKey(record), run);
      return run;
    });
  const sample = { newest: read(newest), failed: read(failed) };
  const waiting = waitingRecords
    .map((run) => introspectRun([], run, redactor))
    .map((run) => ({ ...run, steps: run.steps.filter(isWaiting) }));
  // The records of runs that wait have no earlier steps. One run per step shows what came before it.
  const placed = new Set([...known.values()].flatMap(({ steps }) => steps.map(({ name }) => foldedName(name))));
  const examples: Promise<RunRecord | undefined>[] = [];
  for (const { id, service, steps } of waiting) {
    const unknown = steps.map(({ name }) => foldedName(name)).filter((name) => !placed.has(name));
    if (unknown.length === 0 || examples.length === maxExamples) continue;
    for (const name of unknown) placed.add(name);
    examples.push(store.getSince(type, id, 0, service));
  }
  const histories = (await Promise.all(examples)).flatMap((run) => run ?? []);
  return {
    runs: [...known.values()]
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .map((run) => ({ ...run, at: placesOf(run), steps: run.steps.slice(-maxSteps) })),
    waiting: [...waiting]
      .sort((a, b) => waitsSince(a) - waitsSince(b))
      .slice(0, maxListedWaiting)
      .map((run) => ({ ...run, at: placesOf(run) })),
    steps: summarizeSteps({
      ...sample,
      waiting,
      histories: histories.map((run) => introspectRun(listed, run, redactor)),
    }),
    read: { newest: newest.length, failed: failed.length, waiting: waiting.length },
  };
}

/** Returns the steps that some of the newest runs of a workflow reached. */
export function reachedBy(runs: readonly RunIntrospection[]): readonly ReachedStep[] {
  const waiting = runs.map((run) => ({ ...run, steps: run.steps.filter(isWaiting) }));
  return summarizeSteps({
    newest: runs,
    mayBeCut: true,
    failed: runs.filter(({ status }) => status === 'failed'),
    waiting: waiting.filter(({ steps }) => steps.length > 0),
  });
}

/** Introspects a run; of one that is no longer retained, its end. */
export function introspectRecord(
  record: EventRecord,
  listed: readonly ListedStep[],
  redactor: Redactor,
): RunIntrospection {
  if (record.run !== undefined) return introspectRun(listed, record.run, redactor);
  const { id, service, requestId, status, attempt, acceptedAt, endedAt, step } = record;
  const error = record.error && redactor.recorded(record.error);
  return {
    id,
    service,
    requestId,
    status: runStatusOf(status),
    attempt,
    acceptedAt,
    ...(endedAt !== undefined && { endedAt }),
    ...(error !== undefined && { error: { name: error.name, message: error.message } }),
    steps: step === undefined ? [] : [{ name: step, kind: 'run', status: 'failed' }],
  };
}

/** Returns the status of a run as that of an event says it. */
function runStatusOf(status: EventRecord['status']): RunIntrospection['status'] {
  if (status === 'delayed') return 'waiting';
  if (status === 'filtered') return 'completed';
  return status === 'cancelled' ? 'failed' : status;
}

function runKey({ id, service }: EventRecord): string {
  return JSON.stringify([service, id]);
}

function isWaiting({ waitsFor, status }: StepIntrospection): boolean {
  return waitsFor !== undefined && status !== 'cancelled';
}

function placesOf(run: RunIntrospection): readonly string[] {
  const failed = failedStep(run);
  if (failed !== undefined) return [failed];
  return [...new Set(run.steps.filter(isWaiting).map(({ name }) => foldedName(name)))];
}

function waitsSince({ steps, acceptedAt }: RunIntrospection): number {
  return Math.min(...steps.map(({ waitsFor }) => waitsFor?.since ?? acceptedAt), Number.MAX_VALUE);
}

/** Runs from which a graph is made. */
export interface RunSample {
  readonly newest: readonly RunIntrospection[];
  readonly failed: readonly RunIntrospection[];
  readonly waiting: readonly RunIntrospection[];
  /** Runs that place steps in their order and count for nothing else. */
  readonly histories?: readonly RunIntrospection[];
  /** Of the newest runs, only the last 100 steps were read. */
  readonly mayBeCut?: boolean;
}

/** Returns the name that the elements, the repetitions and the inner steps of a step share. */
export function foldedName(name: string): string {
  const [first = name] = name.split(pathSeparator);
  return first.replace(/(\[\d+\]|#\d+)+$/, '') || first;
}

/** Steps of one run that are one step of the graph. */
interface FoldedStep {
  readonly kind: ReachedStep['kind'];
  readonly members: readonly StepIntrospection[];
  /** Position among the steps of the run. */
  readonly index: number;
  /** Start and end in epoch milliseconds. The end of a step that goes on is infinite. */
  readonly from: number;
  readonly to: number;
  /** The run has earlier steps, which were not read: the step may have begun before. */
  readonly isCut: boolean;
}

/** @param mayBeCut of a run with many steps, only the last ones were read */
function foldSteps({ steps }: RunIntrospection, mayBeCut = false): ReadonlyMap<string, FoldedStep> {
  const folded = new Map<string, StepIntrospection[]>();
  for (const step of steps) {
    // A step of a list that the run has not reached.
    if (step.startedAt === undefined && step.status === 'waiting' && step.waitsFor === undefined) continue;
    const name = foldedName(step.name);
    const members = folded.get(name);
    if (members === undefined) folded.set(name, [step]);
    else members.push(step);
  }
  const isCut = mayBeCut && steps.length >= maxSteps;
  return new Map(
    [...folded].map(([name, members], index) => [
      name,
      toFolded(members, index, isCut && (index === 0 || members.length > 1)),
    ]),
  );
}

function toFolded(members: readonly StepIntrospection[], index: number, isCut: boolean): FoldedStep {
  const from = Math.min(...members.flatMap(({ startedAt }) => startedAt ?? []), Number.MAX_VALUE);
  const to = Math.max(...members.map(({ endedAt }) => endedAt ?? Number.POSITIVE_INFINITY));
  const own = members.find(({ name }) => !name.includes(pathSeparator));
  return { kind: own?.kind ?? 'agent', members, index, from, to, isCut };
}

/** Returns the steps of runs as one graph, by stage. */
export function summarizeSteps(sample: RunSample): readonly ReachedStep[] {
  const newest = sample.newest.map((run) => foldSteps(run, sample.mayBeCut));
  const failed = sample.failed.map((run) => foldSteps(run));
  const waiting = sample.waiting.map((run) => foldSteps(run));
  const isNewest = new Set<RunIntrospection | undefined>(sample.newest);
  const reached = [...newest, ...failed.filter((_steps, index) => !isNewest.has(sample.failed[index]))];
  const failures = sample.failed.map(failedStep);
  const names = commonNames([...reached, ...waiting]);
  const stages = stagesOf(names, [...reached, ...(sample.histories ?? []).map((run) => foldSteps(run))]);
  const all = names.map((name): ReachedStep => {
    const inNewest = newest.flatMap((steps) => steps.get(name) ?? []);
    const ended = inNewest.filter(({ to }) => to !== Number.POSITIVE_INFINITY);
    const inAny = [...reached, ...waiting].flatMap((steps) => steps.get(name) ?? []);
    const whole = ended.filter((step) => !step.isCut && !hasFailed(step));
    const medianMs = median(whole.map(({ from, to }) => Math.max(0, to - from)));
    return {
      name,
      kind: inAny[0]?.kind ?? 'run',
      stage: stages.get(name) ?? 0,
      reached: reached.filter((steps) => steps.has(name)).length,
      times: Math.max(...inAny.map(({ members }) => members.length)),
      ...(inAny.some(({ isCut }) => isCut) && { isCut: true }),
      waiting: waiting.filter((steps) => steps.has(name)).length,
      failed: failures.filter((step) => step === name).length,
      ...(ended.length > 0 && { failureRatio: ended.filter(hasFailed).length / ended.length }),
      ...(medianMs !== undefined && { medianMs }),
    };
  });
  return all.sort((a, b) => a.stage - b.stage);
}

/** Returns the names of the steps that most runs reached, in the order of their first record. */
function commonNames(runs: readonly ReadonlyMap<string, FoldedStep>[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const steps of runs) for (const name of steps.keys()) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size <= maxSteps) return [...counts.keys()];
  const common = [...counts].sort(([, a], [, b]) => b - a).slice(0, maxSteps);
  const isCommon = new Set(common.map(([name]) => name));
  return [...counts.keys()].filter((name) => isCommon.has(name));
}

function hasFailed({ members }: FoldedStep): boolean {
  return members.some(({ status }) => status === 'failed');
}

/** Returns the step in which a run failed: the last one that did, because a function may catch the error of another. */
function failedStep({ status, steps }: RunIntrospection): string | undefined {
  const last = status === 'failed' ? steps.findLast((step) => step.status === 'failed') : undefined;
  return last && foldedName(last.name);
}

/**
 * Returns the stage of each step: one after the latest of the steps that always ended before it. Steps that overlapped in
 * a run, that runs took in both orders, or that no run took together have no order: they are parallel, a loop or branches.
 */
function stagesOf(
  names: readonly string[],
  runs: readonly ReadonlyMap<string, FoldedStep>[],
): ReadonlyMap<string, number> {
  const isBefore = (first: string, second: string): boolean => {
    let isSeen = false;
    for (const steps of runs) {
      const [a, b] = [steps.get(first), steps.get(second)];
      if (a === undefined || b === undefined) continue;
      if (!endsBefore(a, b)) return false;
      // Steps of the same millisecond stand in the order of their record.
      if (endsBefore(b, a) && a.index > b.index) return false;
      isSeen = true;
    }
    return isSeen;
  };
  const stages = new Map<string, number>();
  const visit = (name: string): number => {
    const known = stages.get(name);
    if (known !== undefined) return known;
    // Precedence over different runs may be a circle: a step that is being visited counts as one of the first stage.
    stages.set(name, 0);
    const before = names.filter((other) => other !== name && isBefore(other, name));
    const stage = before.reduce((latest, other) => Math.max(latest, visit(other) + 1), 0);
    stages.set(name, stage);
    return stage;
  };
  for (const name of names) visit(name);
  // A circle leaves out a stage.
  const used = [...new Set(stages.values())].sort((a, b) => a - b);
  return new Map([...stages].map(([name, stage]) => [name, used.indexOf(stage)]));
}

/** Returns true if a step ended before another one began. Starts are whole milliseconds, rounded down; durations are not. */
function endsBefore({ to }: FoldedStep, { from }: FoldedStep): boolean {
  return to - from < 1;
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined || sorted.length % 2 === 1) return middle;
  return (middle + (sorted[sorted.length / 2 - 1] ?? middle)) / 2;
}
