import type { OpenWait, RunWait } from '../../transport.js';
import { encodeName, eventIdOf } from '../names.js';
import { emitArguments, envelopeArguments, keyArgument } from '../publishing/envelope-codec.js';
import { checkedMs } from '../scripts/checked-ms.js';
import type { ScriptArgument } from '../scripts/script.js';

/** Returns a wait as the arguments that `waitScript` reads. */
export function waitArguments(wait: RunWait, service: string): ScriptArgument[] {
  const { key, delayMs, event, run, onCancel = [], isRetry, isApproval } = wait;
  return [
    key,
    delayMs === undefined ? '' : checkedMs(delayMs, 'delayMs of a wait'),
    event === undefined ? '' : encodeName(event.type),
    keyArgument(event?.key),
    isRetry === true ? 'retry' : isApproval === true ? 'approval' : '',
    onCancel.length === 0 ? '' : JSON.stringify(onCancel.map((envelope) => emitArguments(envelope, service))),
    ...(run === undefined ? [''] : ['1', ...envelopeArguments(run, service)]),
  ];
}

/** Returns the open waits of a run in the order of their keys, from the hash in which scripts keep them. */
export function readWaits(stored: ReadonlyMap<string, string>): OpenWait[] {
  const waits = [...stored].map(([key, json]) => readWait(key, Object(JSON.parse(json)) as Record<string, unknown>));
  return waits.sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1));
}

function readWait(key: string, { since, dueAt, event, child, isApproval }: Record<string, unknown>): OpenWait {
  const { type, key: eventKey } = Object(event) as Record<string, unknown>;
  const { id } = Object(child) as Record<string, unknown>;
  return {
    key,
    since: Number(since),
    ...(typeof dueAt === 'number' && { dueAt }),
    ...(typeof type === 'string' && { event: { type: decodeURIComponent(type), key: readKey(eventKey) } }),
    ...(typeof id === 'string' && { runId: eventIdOf(id) }),
    ...(isApproval === true && { isApproval }),
  };
}

function readKey(key: unknown): string | undefined {
  return typeof key === 'string' && key !== '' ? decodeURIComponent(key.slice(1)) : undefined;
}
