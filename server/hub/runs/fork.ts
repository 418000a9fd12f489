import { OptionChecker } from '../../options.js';
import type { Envelope } from '../../transports/delivery.js';
import type { RunRecord } from '../../transports/event-record.js';
import { RunNotEndedError, UnknownStepError } from '../errors.js';
import { type ActionOptions, actionOptionNames, checkActor } from '../operate/audit.js';
import {
  type EntryName,
  entryKey,
  entryOutput,
  isAttemptedKind,
  noteId,
  parseEntryKey,
  pathSeparator,
  readEntry,
  slotOfEntry,
  writeEntry,
} from './run-entry.js';
import { RecordedEntries } from './run-replay.js';

/** Options of `hub.fork`. */
export interface ForkOptions extends ActionOptions {
  /** Step that runs again, as `getRun` names it, or the turn of an agent: `'turn 2'`. */
  fromStep: string;
  /** Input of the fork, which the schema of the workflow checks. @default the input of the run */
  input?: unknown;
  /**
   * Service that runs the workflow. A hub of another service, or a read-only one, forks without `input` what has no `tags`,
   * `receives` or `cancelOn`: these are computed from the input. @default the service of the hub
   */
  service?: string;
}

/** Run of which another one is a fork, and the step from which that runs again. */
export interface ForkOrigin {
  readonly runId: string;
  readonly step: string;
}

/** Key of the entry that names the origin of a fork: a note on no step, which replays skip. */
const originKey = entryKey({ role: 'started', generation: 0, id: noteId('', 'fork'), attempt: 0 });

/** Returns the origin of a run; `undefined` if it is no fork, or if `hub.erase` removed what it recorded. */
export function forkOrigin(checkpoints: RunRecord['checkpoints']): ForkOrigin | undefined {
  const text = checkpoints.get(originKey);
  if (text === undefined) return undefined;
  // Without the codec of the store, entries are other JSON.
  const { runId, step }: Partial<Record<keyof ForkOrigin, unknown>> = Object(JSON.parse(text));
  return typeof runId === 'string' && typeof step === 'string' ? { runId, step } : undefined;
}

/** Maximum size of what a fork takes over, in bytes of UTF-8. */
const maxRecordedBytes = 16_777_216;

/** @throws {InvalidOptionError} */
export function checkFork(options: ForkOptions): void {
  const check = new OptionChecker(options, ['fromStep', 'input', 'service', ...actionOptionNames], 'fork');
  check.required('fromStep', options.fromStep);
  check.string('fromStep', options.fromStep);
  check.name('service', options.service);
  checkActor(check, options);
}

/**
 * Returns what a run recorded before a step, as a new run has it that no process has delivered yet: what an earlier
 * generation recorded and a replay ran again is left out.
 *
 * @throws {RunNotEndedError}
 * @throws {UnknownStepError} if the run has not reached the step
 * @throws {InvalidOptionError} if it is too large
 */
export function recordedBefore(run: RunRecord, fromStep: string): NonNullable<Envelope['recorded']> {
  const { id, endedAt, envelope, checkpoints, waits } = run;
  if (endedAt === undefined) throw new RunNotEndedError(id);
  const entries = new RecordedEntries(checkpoints, envelope.replays);
  const names = entries.keys.map(parseEntryKey);
  const isFrom = ({ id: step }: EntryName): boolean => step === fromStep || step.startsWith(fromStep + pathSeparator);
  const isOfStep = (name: EntryName): boolean => name.role !== 'patches' && name.role !== 'ended';
  const first = names.findIndex((name) => isOfStep(name) && !entries.isForgotten(name) && isFrom(name));
  if (first === -1 && !waits.some(({ key }) => isFrom(parseEntryKey(key)))) {
    throw new UnknownStepError(id, fromStep, stepsOf(names.filter(isOfStep), waits));
  }
  const origin: ForkOrigin = { runId: id, step: fromStep };
  const recorded = new Map([[originKey, JSON.stringify(origin)]]);
  for (const [index, name] of names.slice(0, first === -1 ? undefined : first).entries()) {
    if (name.role === 'ended' || entries.isForgotten(name) || entries.keys[index] === originKey) continue;
    // Patches are numbered by the entries before them.
    const id = name.role === 'patches' ? String(recorded.size) : name.id;
    recorded.set(entryKey({ ...name, id, generation: 0 }), asNew(name, entries.values[index] ?? ''));
  }
  const bytes = [...recorded].reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  const check = new OptionChecker({}, [], 'fork');
  const expected = `a step before which at most ${maxRecordedBytes} bytes are recorded`;
  check.that(bytes <= maxRecordedBytes, 'fromStep', expected, `${bytes} bytes`);
  return [...recorded];
}

/** Attempts of deliveries are counted from the first one of the fork. */
function asNew({ role }: EntryName, value: string): string {
  if (role !== 'attempt' && !isAttemptedKind(role)) return value;
  const hasOutput = value.includes(',"output":');
  return writeEntry({ ...readEntry(value), delivery: 1 }, hasOutput ? entryOutput(value) : undefined);
}

function stepsOf(names: readonly EntryName[], waits: RunRecord['waits']): readonly string[] {
  const all = [...names, ...waits.map(({ key }) => parseEntryKey(key))];
  const named = all.filter((name) => name.role !== 'started').map((name) => [slotOfEntry(name), name.id] as const);
  return [...new Set(new Map(named).values())];
}
