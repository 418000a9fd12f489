import type { RunRecord } from '../transport.js';
import { decodeEnvelope } from './envelope-codec.js';
import { serviceOf, typeOf } from './names.js';
import { decodeError } from './outcome-codec.js';
import { readArray, readHash, readNumber, readOptional, readString } from './reply.js';

/** Reads a run as the scripts answer it. */
export function readRun(answer: unknown): RunRecord {
  const [unitValue, idValue, fields] = readArray(answer);
  const [unit, jobId] = [readString(unitValue), readString(idValue)];
  const [data, acceptedAt, attempt, state, endedAt, ending, checkpoints] = readArray(fields);
  const envelope = decodeEnvelope(jobId, typeOf(unit), JSON.parse(readString(data)));
  const status = readStatus(state);
  const value = readOptional(ending, readString);
  return {
    id: envelope.id,
    service: serviceOf(unit),
    envelope,
    acceptedAt: readNumber(acceptedAt),
    attempt: readNumber(attempt),
    status,
    checkpoints: readCheckpoints(readHash(checkpoints)),
    waits: [],
    endedAt: readOptional(endedAt, readNumber),
    // What completed without a result has none, which is written as ''.
    result: status === 'completed' && value !== '' ? value : undefined,
    error: status === 'failed' && value !== undefined ? decodeError(value) : undefined,
  };
}

/** Reads the runs of several types: of each type the newest of all units, newest first. */
export function readRuns(answer: unknown, limit: number): RunRecord[][] {
  return readArray(answer).map((runs) =>
    readArray(runs)
      .map(readRun)
      .sort((a, b) => b.acceptedAt - a.acceptedAt)
      .slice(0, limit),
  );
}

/** Checkpoints in the order in which they were made; each value follows its number. */
export function readCheckpoints(hash: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const numbered = [...hash].map(([key, stored]) => {
    const space = stored.indexOf(' ');
    return { key, order: Number(stored.slice(0, space)), value: stored.slice(space + 1) };
  });
  return new Map(numbered.sort((a, b) => a.order - b.order).map(({ key, value }) => [key, value]));
}

function readStatus(state: unknown): RunRecord['status'] {
  if (state === null || state === undefined) return 'waiting';
  if (state === 'active' || state === 'completed' || state === 'failed') return state;
  throw new TypeError(`a run has the unknown status ${JSON.stringify(state)}`);
}
