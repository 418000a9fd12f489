import { InvalidOptionError, quote } from '../errors.js';
import { limitsOf } from '../hub/events/attempt-ctx.js';
import { resolveEventName } from '../hub/events/follow-ups.js';
import { ReportedAgents } from '../hub/events/reported-agents.js';
import { checkExported, type ExportedRun, importRun, slotsOf, withoutPayloads } from '../hub/runs/exported-run.js';
import type { RunHost } from '../hub/runs/requested-step.js';
import type { StepKind } from '../hub/runs/run-entry.js';
import { type AnyWorkflow, isWorkflow } from '../hub/runs/workflow.js';
import { createReplay } from '../hub/runs/workflow-run.js';
import { OptionChecker } from '../options.js';
import { createRedactor } from '../redaction.js';
import { CheckedLog } from '../transports/bounded-log.js';
import { systemClock } from '../transports/clock.js';
import { type Codec, resolveCodec } from '../transports/codec.js';
import type { CommitResult, Delivery, Outcome } from '../transports/delivery.js';
import { MemoryLog } from '../transports/memory/memory-log.js';
import { silentLogger } from '../transports/transport.js';

/** Options of {@link checkRuns}. */
export interface CheckRunsOptions {
  /** Codec of the transport, if it has one: it decodes the records. @default none */
  codec?: Codec;
  /**
   * Milliseconds until a run counts as stalled, whose function awaits something that is no step. @default 1_000
   */
  timeoutMs?: number;
}

/** Step of a {@link RunDifference}. */
export interface CheckedStep {
  readonly kind: StepKind;
  /** Id of the step: its name, with an ordinal if the run has used the name before. */
  readonly id: string;
}

/** First place at which the code of a workflow cannot continue a recorded run. */
export interface RunDifference {
  readonly runId: string;
  /**
   * - `changed`: the function asks for other steps than the one that is recorded next, or that the run waits in.
   * - `unreached`: the function returns before that step.
   * - `failed`: the function throws before that step.
   * - `stalled`: the function awaits something that is no step.
   * - `version`: a higher version of the workflow advanced the run.
   */
  readonly reason: 'changed' | 'unreached' | 'failed' | 'stalled' | 'version';
  /** Position of the step among the recorded ones, from 1; those that the run waits in follow the recorded ones. */
  readonly position: number;
  /** Step that is recorded there, or that the run waits in. Absent if every one was reached. */
  readonly recorded?: CheckedStep;
  /** Steps that the function asks for there. */
  readonly requested: readonly CheckedStep[];
  /** Description for people. If the function threw, with the message of its error. */
  readonly message: string;
}

/** Result of {@link checkRuns}. */
export interface RunCheck {
  /** Number of the records that are of the workflow. Others are left out. */
  readonly checked: number;
  /** First difference of each run that the code cannot continue. */
  readonly differences: readonly RunDifference[];
}

/**
 * Replays recorded runs of a workflow against its code, and returns for each run that the code cannot continue the first
 * difference. Calls the function of the workflow with the recorded results, and executes no step. Stores nothing.
 *
 * @param workflow result of `createWorkflow`
 * @param records runs as `npx hubline export --open --payload` writes them. Without payloads, only the ids and kinds of
 *   a list of steps are compared
 * @example
 * ```ts
 * const records = JSON.parse(await readFile('hubline-runs.json', 'utf8'));
 * expect((await checkRuns(fulfil, records)).differences).toEqual([]);
 * ```
 * @throws {InvalidOptionError} if the records are none, lack the payloads that a function needs, or are encoded and there
 *   is no codec
 * @throws {CodecError} if the codec cannot decode them
 */
export async function checkRuns(
  workflow: { readonly name: string },
  records: readonly ExportedRun[],
  options: CheckRunsOptions = {},
): Promise<RunCheck> {
  if (!isWorkflow(workflow)) throw new InvalidOptionError('workflow of checkRuns', 'that of createWorkflow', workflow);
  const check = new OptionChecker(options, ['codec', 'timeoutMs'], 'checkRuns');
  const { timeoutMs = 1_000 } = options;
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  const codec = resolveCodec(options.codec, check);
  const own = checkExported(records).filter((record) => record.workflow === workflow.name);
  const differences: RunDifference[] = [];
  for (const record of own) {
    const difference = await checkRun(workflow, record, codec, timeoutMs);
    if (difference !== undefined) differences.push(difference);
  }
  return { checked: own.length, differences };
}

/** Replays one run. Resolves with the first difference, if there is one. */
function checkRun(
  workflow: AnyWorkflow,
  exported: ExportedRun,
  codec: Codec | undefined,
  timeoutMs: number,
): Promise<RunDifference | undefined> {
  const hasPayloads = exported.input !== undefined;
  if (!hasPayloads && workflow.steps.length === 0) {
    const expected = `an export with --payload, because workflow ${quote(workflow.name)} is a function`;
    throw new InvalidOptionError('records of checkRuns', expected, 'ids and kinds alone');
  }
  const run = hasPayloads ? exported : withoutPayloads(exported, workflow.version);
  const { envelope, checkpoints } = importRun(run, hasPayloads ? codec : undefined);
  return new Promise((resolve) => {
    const end = (reason: RunDifference['reason'] | undefined, slot?: string, detail?: string): void => {
      clearTimeout(timer);
      if (reason === undefined) resolve(undefined);
      else resolve(differenceOf(run, slots, replay.requestedSlots, reason, slot, detail));
      // Aborts the signal of the function, which nothing calls any more.
      delivery.onRevoked?.(new Error('the run is checked'));
    };
    const commit = (outcome: Outcome): CommitResult => {
      if (outcome.status === 'released') end('version', replay.nextSlot);
      else if (outcome.status === 'failed') {
        const { name, message } = outcome.error;
        if (name === 'WorkflowVersionError') end('changed', replay.nextSlot);
        else end('failed', replay.nextSlot ?? waits[0], `${name}: ${message}`);
      } else {
        const [unreached = waits[0]] = replay.unreachedSlots();
        end(unreached === undefined ? undefined : 'unreached', unreached);
      }
      return 'ok';
    };
    const delivery: Delivery = {
      ...{ envelope, checkpoints, attempt: run.attempt, refusal: undefined, isAdmitted: true },
      ...{ onRevoked: undefined, onRecorded: undefined, offers: [], onOffered: undefined },
      commit,
      checkpoint: () => 'ok',
      wait: async () => 'ok',
      decide: () => 'ok',
      // A recorded transaction is replayed, and no other one starts.
      transact: async () => 'fenced',
      admit: () => 'ok',
    };
    const timer = setTimeout(() => end('stalled', replay.nextSlot ?? waits[0]), timeoutMs);
    const replayed = createReplay(workflow, delivery, hostOf(run), () => {
      const requested = new Set(replay.requestedSlots);
      // The function returns, throws, or awaits something that is no step.
      if (requested.size === 0) return;
      const missing = waits.find((slot) => !requested.has(slot));
      end(missing === undefined ? undefined : 'changed', missing);
    });
    const { replay } = replayed;
    const slots = slotsOf(replay.entries, run.waits);
    const waits = slots.slice(slotsOf(replay.entries, []).length);
    replayed.start();
  });
}

function differenceOf(
  { runId }: ExportedRun,
  slots: readonly string[],
  requestedSlots: readonly string[],
  reason: RunDifference['reason'],
  slot: string | undefined,
  detail: string | undefined,
): RunDifference {
  const index = slot === undefined ? -1 : slots.indexOf(slot);
  const position = (index === -1 ? slots.length : index) + 1;
  const requested = requestedSlots.map(stepOf);
  const place = slot === undefined ? 'after its last recorded step' : `at step ${position}, ${slot}`;
  const asks = requestedSlots.length === 0 ? '' : ` asks for ${requestedSlots.slice(0, 3).join(', ')}`;
  const what = {
    changed: `the code${asks}`,
    unreached: 'the code returns before it',
    failed: `the code throws ${detail ?? ''}`,
    stalled: 'the code awaits something that is no step',
    version: 'a higher version of the workflow advanced the run',
  }[reason];
  const message = `run ${quote(runId)} differs ${place}: ${what}`;
  return { runId, reason, position, ...(slot !== undefined && { recorded: stepOf(slot) }), requested, message };
}

function stepOf(slot: string): CheckedStep {
  const end = slot.indexOf(':');
  // `slotOf` joins a kind and an id.
  return { kind: slot.slice(0, end) as StepKind, id: slot.slice(end + 1) };
}

/** Returns the part of a hub that a replay uses. It knows every name, because nothing is emitted or started. */
function hostOf({ service }: ExportedRun): RunHost {
  const unreachable = (): never => {
    throw new Error('unreachable: a replay starts no step');
  };
  return {
    transport: {
      name: 'export',
      service,
      clock: systemClock,
      runs: { end: unreachable },
      // What a replay publishes stays in this process.
      log: new CheckedLog(new MemoryLog(systemClock)),
    },
    logger: silentLogger,
    maxPayloadBytes: Number.MAX_SAFE_INTEGER,
    redactor: createRedactor(),
    invocations: { note: () => {} },
    agentParts: { reporter: new ReportedAgents(), limits: limitsOf(undefined) },
    publisher: {
      service,
      storedBytes: (draft) => draft.size(),
      draft: unreachable,
      draftRun: unreachable,
      index: () => undefined,
      prepareFollowUps: (envelopes) => envelopes,
    },
    pauses: { holds: () => false, onChange: () => () => {} },
    errors: { count: () => {} },
    registry: {
      event: (event) => ({ type: resolveEventName(event, 'event of a step') ?? '' }),
      // Only the start of a child run reads more of it than its name.
      workflow: (workflow) => workflow as AnyWorkflow,
    },
  };
}
