import type { ErrorInfo } from '../../errors.js';
import type { TurnFacts } from '../events/reported-agents.js';

/**
 * Kind of a step, which is part of the key of its recorded entry. Agents have `model` (an answer), `tool` (the result of
 * a call), `approval` (a decision), `request` (the event that asks for it) and `memory` (the stored conversation).
 */
export type StepKind =
  | 'run'
  | 'emit'
  | 'sleep'
  | 'event'
  | 'invoke'
  | 'model'
  | 'tool'
  | 'approval'
  | 'request'
  | 'memory';

/** Kind of an agent's step that runs a function of this process. */
export type TurnKind = 'model' | 'tool' | 'request' | 'memory';

/** Kind of a step that runs a function of this process. */
export type AttemptedKind = 'run' | 'emit' | TurnKind;

/**
 * Role of an entry: the result of a step, or bookkeeping that the user's function never sees. `started` is recorded
 * before a step that must not run again, and for each note on a step that has no result yet.
 */
export type EntryRole = StepKind | 'attempt' | 'retry' | 'patches' | 'ended' | 'started';

/** Separates the id of a step from the ids of the steps inside it. */
export const pathSeparator = ' / ';

/** Returns `true` for the kind of a step that runs a function of this process. */
export function isAttemptedKind(kind: EntryRole): kind is AttemptedKind {
  return (
    kind === 'run' || kind === 'model' || kind === 'tool' || kind === 'emit' || kind === 'request' || kind === 'memory'
  );
}

/**
 * Identity of a recorded entry. `generation` is the number of times that the run was replayed from a dead letter: a key
 * is recorded once, and a step whose failure ended the run is recorded again after the replay.
 */
export interface EntryName {
  readonly role: EntryRole;
  readonly generation: number;
  /** Step id; of `patches` and `ended` a number. */
  readonly id: string;
  /** Number of a step's attempt, from 1; 0 for other roles. */
  readonly attempt: number;
}

/**
 * Step result or failed attempt, as the engine records it. Resolutions of waits are recorded by the transport; an entry
 * of role `patches` holds a {@link PatchEntry}, one of role `ended` the slot of the step whose failure ended the run.
 */
export interface StepEntry {
  /** Version of the workflow that recorded the entry. */
  readonly version: number;
  /** Attempt of the delivery that recorded the entry: it counts the processes that died during the run. */
  readonly delivery: number;
  /** Attempt of the step, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds at which the attempt started. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Failure of the step, or of the attempt. */
  readonly error?: ErrorInfo;
  /** Epoch milliseconds of the next attempt, in an entry of role `attempt`. */
  readonly retryAt?: number;
  /** Facts about the step of an agent. */
  readonly turn?: TurnFacts;
}

/** Names for which `step.patched` returned `true`, recorded before the next step starts. */
export interface PatchEntry {
  /**
   * Version of the workflow that recorded the entry: an older one does not know the branch that the run took.
   * `undefined` in records of the first builds.
   */
  readonly version: number | undefined;
  readonly names: readonly string[];
}

const outputKey = ',"output":';

/** Returns the key under which an entry is recorded. */
export function entryKey({ role, generation, id, attempt }: EntryName): string {
  const prefix = generation === 0 ? role : `${role}~${generation}`;
  return attempt === 0 ? `${prefix}:${id}` : `${prefix}:${attempt}:${id}`;
}

/** Reads a key that {@link entryKey} wrote. */
export function parseEntryKey(key: string): EntryName {
  const colon = key.indexOf(':');
  const prefix = key.slice(0, colon);
  const rest = key.slice(colon + 1);
  const tilde = prefix.indexOf('~');
  // `entryKey` is the only writer.
  const role = (tilde === -1 ? prefix : prefix.slice(0, tilde)) as EntryRole;
  const generation = tilde === -1 ? 0 : Number(prefix.slice(tilde + 1));
  if (role !== 'attempt' && role !== 'retry') return { role, generation, id: rest, attempt: 0 };
  const second = rest.indexOf(':');
  return { role, generation, id: rest.slice(second + 1), attempt: Number(rest.slice(0, second)) };
}

const noteSeparator = `${pathSeparator}note `;

/** Returns the id under which a note on a step is recorded. @param note id of the note */
export function noteId(id: string, note: string): string {
  return `${id}${noteSeparator}${note}`;
}

/** Returns the id of the step that a note is on; `undefined` if the key is that of another entry. */
export function notedStep(key: string): string | undefined {
  if (!key.startsWith('started')) return undefined;
  const { id } = parseEntryKey(key);
  const end = id.lastIndexOf(noteSeparator);
  return end === -1 ? undefined : id.slice(0, end);
}

/** Returns the name of a step within its run, the same in every generation. */
export function slotOf(kind: StepKind, id: string): string {
  return `${kind}:${id}`;
}

/** Returns the kind of the step that an entry belongs to. Its role is none of bookkeeping. */
export function stepKind(role: EntryRole): StepKind {
  return role === 'attempt' || role === 'retry' ? 'run' : (role as StepKind);
}

/** Returns the name of the step that an entry belongs to, or of a place of its own for bookkeeping. */
export function slotOfEntry({ role, id }: EntryName): string {
  const isStep = role !== 'patches' && role !== 'ended' && role !== 'started';
  return isStep ? slotOf(stepKind(role), id) : `${role}:${id}`;
}

/** Writes an entry. `output` is JSON, and stays unparsed until somebody reads it. */
export function writeEntry(entry: StepEntry, output?: string): string {
  const json = JSON.stringify(entry);
  return output === undefined ? json : `${json.slice(0, -1)}${outputKey}${output}}`;
}

/** Reads everything except the output, which may be large. */
export function readEntry(value: string): StepEntry {
  // The key of the output cannot occur inside a JSON string, where its quotes are escaped.
  const end = value.indexOf(outputKey);
  return JSON.parse(end === -1 ? value : `${value.slice(0, end)}}`) as StepEntry;
}

/** Returns an entry of role `patches` as a list, which the first builds read too: they take all of it as names. */
export function writePatches({ version, names }: PatchEntry): string {
  return JSON.stringify([...names, version]);
}

/** Reads a {@link writePatches}. */
export function readPatches(value: string): PatchEntry {
  // The engine is the only writer.
  const list = JSON.parse(value) as readonly (string | number)[];
  return {
    version: list.find((each) => typeof each === 'number'),
    names: list.filter((each) => typeof each === 'string'),
  };
}

/** Returns the output of a {@link writeEntry} as JSON; `null` for an entry without one. */
export function entryOutput(value: string): string {
  const start = value.indexOf(outputKey);
  return start === -1 ? 'null' : value.slice(start + outputKey.length, -1);
}
