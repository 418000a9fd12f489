import type { Hub } from '../../hub/hub.js';
import { isName } from '../../options.js';
import type { AgentRunsBody, ProcessesBody, WaitsBody } from '../protocol.js';

const maxProcesses = 500;

/** Reads what runs wait for. */
export async function readWaitsBody(hub: Hub): Promise<WaitsBody> {
  const waits = await hub.waits();
  return { protocol: 2, now: hub.transport.clock.now(), ...waits };
}

/** Reads the running hubs. Those that handle the same share a list of it. */
export async function readProcessesBody(hub: Hub): Promise<ProcessesBody> {
  const all = await hub.processes();
  const registrations = new Map<string, ProcessesBody['registrations'][number] & { readonly index: number }>();
  const processes = all.slice(0, maxProcesses).map(({ events, workflows, ...process }) => {
    const key = JSON.stringify([events, workflows]);
    const registration = registrations.get(key) ?? { events, workflows, index: registrations.size };
    registrations.set(key, registration);
    return { ...process, handles: registration.index };
  });
  return {
    protocol: 2,
    now: hub.transport.clock.now(),
    processes,
    processCount: all.length,
    registrations: [...registrations.values()].map(({ events, workflows }) => ({ events, workflows })),
  };
}

/** Reads the recorded runs of an agent. None if there is no such agent. */
export async function readAgentRunsBody(hub: Hub, agent: string): Promise<AgentRunsBody> {
  const runs = isName(agent) ? await hub.agentRuns(agent) : [];
  return { protocol: 2, now: hub.transport.clock.now(), agent, runs };
}
