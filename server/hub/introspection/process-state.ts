import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { isName } from '../../options.js';
import { type IsolatedEvent, loneEvents } from '../../transports/lone-events.js';
import { version } from '../../version.js';

/** State of the process of a hub, as it travels over the transport. */
export interface ProcessState {
  /** Id of the hub. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Random id of the process, the same of all its hubs. Absent in states of versions that did not report it. */
  readonly process?: string;
  /** Version of this package. */
  readonly version: string;
  /** Epoch milliseconds at which the hub connected. */
  readonly startedAt: number;
  /** Handlers that run. Those of types with their own `concurrency` or `rate` take no shared slot. */
  readonly active: number;
  /** `concurrency` of the hub: number of its shared slots. */
  readonly slots: number;
  /** Release of the application. */
  readonly release?: string;
  /** Used heap of the process in bytes. Absent in states of versions that did not report it. */
  readonly heapBytes?: number;
  /** Part of the last seconds in which the event loop of the process was busy, from 0 to 1. */
  readonly loopBusy?: number;
  /** Event that runs alone in the process, or is about to, because processes died while they handled it. */
  readonly isolated?: IsolatedEvent;
}

/** Running hub: one per process, unless a process has several. */
export interface ProcessIntrospection extends ProcessState {
  readonly service: string;
  /** Event types that it handles. Empty if it only reads or emits. */
  readonly events: readonly string[];
  /** Workflows that it runs. */
  readonly workflows: readonly string[];
}

// Containers may share names of hosts and ids of processes.
const processId = randomUUID().slice(0, 8);

/** Creates a function that describes the process of a hub with a number of running handlers. */
export function processDescriber(
  { id, slots, release }: Pick<ProcessState, 'id' | 'slots'> & { readonly release: string | undefined },
  now: () => number,
): (active: number) => string {
  const host = hostname();
  const named = release === undefined ? {} : { release };
  const busyShare = loopMeter();
  const { pid } = process;
  let startedAt: number | undefined;
  return (active) => {
    startedAt ??= now();
    const { heapUsed: heapBytes } = process.memoryUsage();
    const loopBusy = busyShare();
    const { isolated } = loneEvents;
    const state: ProcessState = {
      id,
      host,
      pid,
      process: processId,
      version,
      startedAt,
      active,
      slots,
      ...named,
      heapBytes,
      ...(loopBusy !== undefined && { loopBusy }),
      ...(isolated !== undefined && { isolated }),
    };
    return JSON.stringify(state);
  };
}

const minSampleMs = 1_000;

/** Returns a function that returns the part of the last seconds in which the event loop was busy, if that is known. */
function loopMeter(): () => number | undefined {
  let last = readLoop();
  let at = performance.now();
  let busy: number | undefined;
  return () => {
    if (performance.now() - at < minSampleMs) return busy;
    const next = readLoop();
    const [activeMs, idleMs] = [(next?.active ?? 0) - (last?.active ?? 0), (next?.idle ?? 0) - (last?.idle ?? 0)];
    busy = activeMs + idleMs > 0 ? Math.round((activeMs / (activeMs + idleMs)) * 1_000) / 1_000 : undefined;
    last = next;
    at = performance.now();
    return busy;
  };
}

function readLoop(): { readonly active: number; readonly idle: number } | undefined {
  try {
    return performance.eventLoopUtilization();
  } catch {
    // Not every runtime has it.
    return undefined;
  }
}

/** Returns the state of a process from its text; `undefined` for one that is not understood, of another version. */
export function parseProcessState(json: string): ProcessState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const {
    id,
    host,
    pid,
    process: ofHubs,
    version: own,
    startedAt,
    active,
    slots,
    release,
    heapBytes,
    loopBusy,
    isolated,
  } = Object(value) as Record<string, unknown>;
  if (!isName(id) || typeof host !== 'string' || typeof own !== 'string') return undefined;
  if (!isNumber(pid) || !isNumber(startedAt) || !isNumber(active) || !isNumber(slots)) return undefined;
  return {
    id,
    host,
    pid,
    version: own,
    startedAt,
    active,
    slots,
    ...(isName(ofHubs) && { process: ofHubs }),
    ...(isName(release) && { release }),
    ...(isNumber(heapBytes) && { heapBytes }),
    ...(isNumber(loopBusy) && { loopBusy }),
    ...(isIsolated(isolated) && { isolated }),
  };
}

function isIsolated(value: unknown): value is IsolatedEvent {
  const { id, since, isWaiting = true } = Object(value) as Record<string, unknown>;
  return isName(id) && isNumber(since) && isWaiting === true;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
