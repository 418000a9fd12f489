import { InvalidOptionError, quote } from '../../errors.js';
import { type Codec, CodecError } from '../../transports/codec.js';
import { decodeDelivery } from '../../transports/coded-transport.js';
import { type Envelope, workflowOf, workflowType } from '../../transports/delivery.js';
import type { RunRecord } from '../../transports/event-record.js';
import { isAttemptedKind, parseEntryKey, pathSeparator, slotOf, slotOfEntry, writeEntry } from './run-entry.js';
import type { RecordedEntries } from './run-replay.js';

/** Recorded run as `hubline export` writes it. Texts are those that the transport stores: a codec has encoded them. */
export interface ExportedRun {
  /** Name of the workflow. */
  readonly workflow: string;
  readonly service: string;
  readonly runId: string;
  readonly requestId: string;
  /** Number of events in the causal chain before the run. */
  readonly depth: number;
  /** Number of replays as a dead letter. */
  readonly replays: number;
  /** Number of the next attempt at the run, from 1. */
  readonly attempt: number;
  /** Recorded entries of the steps in the order of recording. */
  readonly entries: readonly ExportedEntry[];
  /** Keys of what the run waits for. */
  readonly waits: readonly string[];
  /** Input as JSON. Absent in an export without payloads. */
  readonly input?: string;
}

/** Recorded entry of a step. The key names the kind and the id of the step. */
export interface ExportedEntry {
  readonly key: string;
  /** Result of the step with its times, as JSON. Absent in an export without payloads. */
  readonly value?: string;
}

/** Returns a run as it is exported. @param payloads include its input and the results of its steps */
export function exportRun(record: RunRecord, payloads: boolean): ExportedRun {
  const { id: runId, service, envelope, attempt, checkpoints, waits } = record;
  const { type, requestId, depth, replays, body } = envelope;
  return {
    workflow: workflowOf(type) ?? type,
    ...{ service, runId, requestId, depth, replays, attempt },
    entries: [...checkpoints].map(([key, value]) => (payloads ? { key, value } : { key })),
    waits: waits.map(({ key }) => key),
    ...(payloads && { input: body }),
  };
}

/** Event of an exported run and the entries of its steps. */
export interface ImportedRun {
  readonly envelope: Envelope;
  readonly checkpoints: ReadonlyMap<string, string>;
}

/**
 * Returns a run as it was stored before it was exported.
 *
 * @throws {CodecError} if it cannot be decoded
 * @throws {InvalidOptionError} if it is encoded and there is no codec
 */
export function importRun(run: ExportedRun, codec: Codec | undefined): ImportedRun {
  const { workflow, runId: id, requestId, depth, replays, input = 'null', entries } = run;
  const type = workflowType(workflow);
  const fields = { id, type, requestId, depth, replays, body: input };
  const envelope = { ...fields, delayMs: 0, priority: 0, dedupe: undefined };
  const checkpoints = new Map(entries.map(({ key, value = 'null' }) => [key, value]));
  if (codec === undefined) {
    const encoded = [...checkpoints].find(([key, value]) => isEncoded(key, value));
    if (encoded === undefined) return { envelope, checkpoints };
    throw new InvalidOptionError('codec of checkRuns', 'that of the transport, because the records are encoded', codec);
  }
  const { refusal, ...decoded } = decodeDelivery({ envelope, checkpoints, refusal: undefined }, codec);
  if (refusal !== undefined) throw CodecError.is(refusal) ? refusal : new CodecError('decode', refusal);
  return decoded;
}

/** Entries of steps that run functions are JSON objects. */
function isEncoded(key: string, value: string): boolean {
  return isAttemptedKind(parseEntryKey(key).role) && value.startsWith('"');
}

/**
 * Returns the run of a list of steps with `null` for its input and for each result: enough to compare ids and kinds,
 * because payloads do not select the steps of a list. Without the steps inside those of the list, and without waits.
 *
 * @param version version of the workflow
 */
export function withoutPayloads(run: ExportedRun, version: number): ExportedRun {
  const value = writeEntry({ version, delivery: 1, attempt: 1, startedAt: 0, durationMs: 0 }, 'null');
  const listed = run.entries
    .map(({ key }) => parseEntryKey(key))
    .filter(({ role, id }) => (role === 'run' || role === 'attempt') && !id.includes(pathSeparator));
  const keys = new Set(listed.map(({ id }) => slotOf('run', id)));
  return { ...run, replays: 0, entries: [...keys].map((key) => ({ key, value })), waits: [] };
}

/** Returns the names of the steps of a run within it, in order: recorded ones, then those that wait. */
export function slotsOf(entries: RecordedEntries, waits: readonly string[]): readonly string[] {
  const recorded = entries.keys.map(parseEntryKey).filter((name) => !entries.isOfNoStep(name));
  return [...new Set([...recorded, ...waits.map(parseEntryKey)].map(slotOfEntry))];
}

/** Checks records that came from a file. @throws {InvalidOptionError} if they are not those of an export */
export function checkExported(records: unknown): readonly ExportedRun[] {
  const expected = 'the array that `hubline export` writes';
  if (!Array.isArray(records)) throw new InvalidOptionError('records of checkRuns', expected, records);
  for (const [index, record] of records.entries()) {
    if (isExported(record)) continue;
    throw new InvalidOptionError(
      `records of checkRuns at index ${quote(String(index))}`,
      `an element of ${expected}`,
      record,
    );
  }
  return records;
}

const texts = ['workflow', 'service', 'runId', 'requestId'] as const;
const counts = ['depth', 'replays', 'attempt'] as const;

function isExported(record: unknown): record is ExportedRun {
  // Every field is checked below.
  const run = Object(record) as Partial<ExportedRun>;
  return (
    texts.every((name) => typeof run[name] === 'string') &&
    counts.every((name) => Number.isSafeInteger(run[name])) &&
    isTextOrAbsent(run.input) &&
    Array.isArray(run.waits) &&
    run.waits.every((key) => typeof key === 'string') &&
    Array.isArray(run.entries) &&
    run.entries.every((entry) => typeof entry?.key === 'string' && isTextOrAbsent(entry.value))
  );
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
