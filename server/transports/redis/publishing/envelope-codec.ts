import type { Envelope } from '../../transport.js';
import type { ScriptArgument } from '../scripts/script.js';
import { eventIdOf, jobIdOf, unitOf } from '../names.js';

// BullMQ starts the lowest number first, from 1; ours go from -100 to 100, the highest first.
const lowestPriority = 101;

/** An envelope as the scripts take it. Its data is cut before the end, where a script writes depth and replays. */
export function envelopeArguments(envelope: Envelope, sender: string): ScriptArgument[] {
  const { id, type, body, requestId, depth, delayMs, priority, trace } = envelope;
  return [
    jobIdOf(id),
    encodeURIComponent(type),
    unitOf(sender, type),
    JSON.stringify({ requestId, body, delayMs, priority, trace }).slice(0, -1),
    depth,
    lowestPriority - priority,
    delayMs,
  ];
}

/** Reads an envelope back from a job. @throws {TypeError} where it is none of ours */
export function decodeEnvelope(jobId: string, type: string, data: unknown): Envelope {
  const fields = Object(data) as Partial<Record<keyof Envelope, unknown>>;
  const { requestId, body, depth, replays, delayMs, priority } = fields;
  if (
    typeof requestId !== 'string' ||
    typeof body !== 'string' ||
    typeof depth !== 'number' ||
    typeof replays !== 'number' ||
    typeof delayMs !== 'number' ||
    typeof priority !== 'number'
  ) {
    throw new TypeError(`job ${JSON.stringify(jobId)} holds no event: it was put into this queue by something else`);
  }
  const trace = readTrace(fields.trace);
  return { id: eventIdOf(jobId), type, body, requestId, depth, delayMs, priority, replays, dedupe: undefined, trace };
}

/** Nothing depends on it, so that one that cannot be read is as good as none. */
function readTrace(trace: unknown): Envelope['trace'] {
  if (typeof trace !== 'object' || trace === null) return undefined;
  const entries = Object.entries(trace);
  return entries.every(([, value]) => typeof value === 'string') ? Object.fromEntries(entries) : undefined;
}
