import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createHub, type Transport } from 'hubline';
import { redisTransport } from 'hubline/redis';
import { sqliteTransport } from 'hubline/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { startRedisServer } from '../../scripts/redis-server.js';
import { newFolder } from '../sqlite/sqlite-process.js';
import { startFleet } from '../workers/fleet.js';
import { readLedger } from '../workers/ledger.js';
import { isLong, until } from '../workers/scene.js';
import { agentTurns, sdkRuns } from './agent-scenario.js';
import { agentsOfTurns } from './handoff-scenario.js';

const all = Array.from({ length: agentTurns - 1 }, (_, index) => index + 1);
const ofAgent = isLong ? all : [1, agentTurns - 1];
const ofSdk = (isLong ? all : [agentTurns / 2]).map((turn) => sdkRuns + turn);
const lastTurns = [...ofAgent, ...ofSdk];
/** Turn of which the next one is that of another agent, by store. */
const afterHandoffs: Record<string, number> = { Redis: 1, SQLite: 3 };
// The long form kills and starts processes one after another.
const limitMs = isLong ? 1_200_000 : 280_000;

/** Address of the events, number of processes, and a transport that reads them once the processes have ended. */
interface Place {
  readonly url: string;
  readonly processes: number;
  open(): Transport;
}

const places: Record<string, (folder: string) => Promise<Place>> = {
  async Redis() {
    const server = await startRedisServer();
    onTestFinished(() => server.release());
    return {
      url: server.url,
      processes: 2,
      open: () => redisTransport({ url: server.url, prefix: 'turns', emitTimeoutMs: 60_000 }),
    };
  },
  async SQLite(folder) {
    const file = join(folder, 'hub.db');
    return { url: pathToFileURL(file).href, processes: 1, open: () => sqliteTransport({ file }) };
  },
};

it.each(Object.keys(places))(
  `on %s, a run of ${agentTurns} turns costs ${agentTurns} model calls, whichever turn its process dies after`,
  async (name) => {
    const ledger = newFolder();
    const place = await places[name]?.(ledger);
    if (place === undefined) throw new Error(`no place ${name}`);
    const { url, processes, open } = place;
    const options = { scenario: 'agent', url, prefix: 'turns', ledger, variant: lastTurns.join(',') };
    // A machine that stands still for less than that costs no model call.
    const fleet = await startFleet(processes, { ...options, maxCrashes: agentTurns, lockDurationMs: 3_000 });
    onTestFinished(() => fleet.stop());
    const answered = (): string[] => readLedger(ledger).flatMap(({ what, key }) => (what === 'answered' ? [key] : []));
    await until('all runs answered', () => answered().length === lastTurns.length, limitMs);
    await fleet.stop();

    const turnsOf = (what: string): number[] =>
      readLedger(ledger).flatMap((entry) => (entry.what === what ? [Number(entry.key)] : []));
    for (const n of lastTurns) {
      expect(turnsOf(`model ${n}`), `model calls of the run that died after turn ${n}`).toEqual([...all, agentTurns]);
      expect(turnsOf(`tool ${n}`), `tool calls of the run that died after turn ${n}`).toEqual(all);
    }
    for (const n of ofAgent) {
      const texts = [...all, agentTurns].map((turn) => (turn > n ? 1 : 0));
      expect(turnsOf(`texts ${n}`), `texts in the calls of the run that died after turn ${n}`).toEqual(texts);
    }
    // The tokens of all attempts.
    expect(answered()).toEqual(lastTurns.map(() => String(2 * agentTurns)));
    const hub = createHub({ service: 'test', transport: open() });
    for (const type of ['agent.asked', 'sdk.asked']) hub.event({ type });
    onTestFinished(async () => {
      await hub.stop();
    });
    await hub.start();
    expect(await hub.metrics('agent.asked')).toMatchObject({ completed: ofAgent.length, failed: 0 });
    expect(await hub.metrics('sdk.asked')).toMatchObject({ completed: ofSdk.length, failed: 0 });
    // Calls that a kill interrupted may have been paid: what was reserved for them counts.
    const [{ spent, reserved } = { spent: 0, reserved: 0 }] = await hub.spend({ agent: 'runner' });
    expect(spent + reserved).toBeGreaterThan(2 * agentTurns * ofAgent.length);
    expect(spent).toBeGreaterThanOrEqual(2 * agentTurns * ofAgent.length);
  },
  limitMs + 20_000,
);

it.each(Object.keys(places))(
  'on %s, a run that was handed over continues with the right agent, whichever turn its process dies after',
  async (name) => {
    const ledger = newFolder();
    const place = await places[name]?.(ledger);
    if (place === undefined) throw new Error(`no place ${name}`);
    const { url, processes } = place;
    const runs = isLong ? agentsOfTurns.slice(1).map((_, index) => index + 1) : [afterHandoffs[name] ?? 1];
    // The conversation of a process that dies stays locked for 30 seconds.
    const variant = isLong ? ['memory', ...runs].join(',') : runs.join(',');
    const options = { scenario: 'handoff', url, prefix: 'turns', ledger, variant };
    const fleet = await startFleet(isLong ? processes : 1, {
      ...options,
      maxCrashes: agentTurns,
      lockDurationMs: 3_000,
    });
    onTestFinished(() => fleet.stop());
    const keysOf = (what: string): string[] =>
      readLedger(ledger).flatMap((entry) => (entry.what === what ? [entry.key] : []));
    await until('all runs answered', () => keysOf('answered').length === runs.length, limitMs);
    await fleet.stop();

    const calls = agentsOfTurns.map((agent, index) => `${index + 1} ${agent} ${agent}`);
    for (const n of runs) {
      expect(keysOf(`model ${n}`), `model calls of the run that died after turn ${n}`).toEqual(calls);
      expect(keysOf(`tool ${n}`), `tool calls of the run that died after turn ${n}`).toEqual(['billing', 'support']);
    }
    expect(keysOf('answered')).toEqual(runs.map(() => `support ${2 * agentsOfTurns.length}`));
  },
  limitMs + 20_000,
);
