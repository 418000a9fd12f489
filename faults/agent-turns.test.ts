import { expect, it, onTestFinished } from 'vitest';
import { agentTurns } from './agent-scenario.js';
import { startFleet } from './fleet.js';
import { isLong, setScene, until } from './scene.js';

const all = Array.from({ length: agentTurns - 1 }, (_, index) => index + 1);
const lastTurns = isLong ? all : [1, agentTurns - 1];

it(`a run of ${agentTurns} turns costs ${agentTurns} model calls, whichever turn its process dies after`, async () => {
  const { hub, workers, ledger } = await setScene(['agent.asked', 'agent.answered']);
  const fleet = await startFleet(2, workers('agent'));
  onTestFinished(() => fleet.stop());
  for (const n of lastTurns) await hub.emit('agent.asked', String(n));
  const answered = (): string[] => ledger().flatMap(({ what, key }) => (what === 'answered' ? [key] : []));
  await until('all runs answered', () => answered().length === lastTurns.length, 120_000);
  const turnsOf = (what: string): number[] =>
    ledger().flatMap((entry) => (entry.what === what ? [Number(entry.key)] : []));
  for (const n of lastTurns) {
    expect(turnsOf(`model ${n}`), `model calls of the run that died after turn ${n}`).toEqual([...all, agentTurns]);
    expect(turnsOf(`tool ${n}`), `tool calls of the run that died after turn ${n}`).toEqual(all);
  }
  // The tokens of all attempts.
  expect(answered()).toEqual(lastTurns.map(() => String(2 * agentTurns)));
  expect(await hub.metrics('agent.asked')).toMatchObject({ completed: lastTurns.length, failed: 0 });
});
