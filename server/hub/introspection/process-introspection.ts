import { hostname } from 'node:os';
import { isName } from '../../options.js';
import type { ConnectedProcess } from '../../transports/transport.js';
import { version } from '../../version.js';
import type { HubDescription } from './descriptions/hub-description.js';

/** State of the process of a hub, as it travels over the transport. */
export interface ProcessState {
  /** Id of the hub. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** Version of this package. */
  readonly version: string;
  /** Epoch milliseconds at which the hub connected. */
  readonly startedAt: number;
  /** Handlers that run. Those of types with their own `concurrency` or `rate` take no shared slot. */
  readonly active: number;
  /** `concurrency` of the hub: number of its shared slots. */
  readonly slots: number;
}

/** Running hub: one per process, unless a process has several. */
export interface ProcessIntrospection extends ProcessState {
  readonly service: string;
  /** Event types that it handles. Empty if it only reads or emits. */
  readonly events: readonly string[];
  /** Workflows that it runs. */
  readonly workflows: readonly string[];
}

/** Creates a function that describes the process of a hub with a number of running handlers. */
export function processDescriber(id: string, slots: number, now: () => number): (active: number) => string {
  const host = hostname();
  const { pid } = process;
  let startedAt: number | undefined;
  return (active) => {
    startedAt ??= now();
    const state: ProcessState = { id, host, pid, version, startedAt, active, slots };
    return JSON.stringify(state);
  };
}

/**
 * Lists the processes by service and start. One whose state is not understood, of another version, is omitted.
 *
 * @param parse returns the description of a hub from its text
 */
export function introspectProcesses(
  connected: readonly ConnectedProcess[],
  parse: (description: string) => HubDescription,
): readonly ProcessIntrospection[] {
  const processes = connected.flatMap(({ description, state }) => {
    const known = parseState(state);
    if (known === undefined) return [];
    const { service, events, workflows } = parse(description);
    return [
      {
        ...known,
        service,
        events: events.filter(({ kind }) => kind !== 'declared').map(({ type }) => type),
        workflows: workflows.map(({ name }) => name),
      },
    ];
  });
  return processes.sort((a, b) => compare(a.service, b.service) || a.startedAt - b.startedAt || compare(a.id, b.id));
}

function parseState(json: string): ProcessState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const { id, host, pid, version: release, startedAt, active, slots } = Object(value) as Record<string, unknown>;
  if (!isName(id) || typeof host !== 'string' || typeof release !== 'string') return undefined;
  if (!isNumber(pid) || !isNumber(startedAt) || !isNumber(active) || !isNumber(slots)) return undefined;
  return { id, host, pid, version: release, startedAt, active, slots };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
