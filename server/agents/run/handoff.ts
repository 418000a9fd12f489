import type { SettledAgentRun } from '../agent/run-result.js';
import { type AgentSpec, takerOf, takersOf } from '../agent-spec.js';
import { UnknownAgentError } from '../errors.js';
import { observeRun } from '../gen-ai-operations.js';
import type { ResumedExchange, StoredExchange } from '../memory/stored-exchange.js';
import type { TokenUsage } from '../model/token-usage.js';
import type { RunRequest } from './run-request.js';
import type { TurnRecorder } from './turn-recorder.js';

/** Agent that continues a run in the place of another one. */
export interface Takeover {
  readonly agent: AgentSpec;
  /** An earlier exchange handed the conversation over: the run starts with the agent. */
  readonly isStart: boolean;
  /** Agents that took the conversation over after this one, in an earlier attempt. */
  readonly rest: readonly string[];
  /** Exchange of an earlier attempt, which the last of these agents continues. */
  readonly resumed: ResumedExchange | undefined;
}

/**
 * Returns the takeover by the first of `names`, the others after it; `undefined` without names.
 *
 * @throws {UnknownAgentError} if the agent is not registered for handoffs any more
 */
export function takeoverBy(
  from: AgentSpec,
  [name, ...rest]: readonly string[],
  resumed?: ResumedExchange,
): Takeover | undefined {
  if (name === undefined) return undefined;
  const agent = takerOf(from, name);
  if (agent === undefined) throw new UnknownAgentError(name, from.registry?.list().map((each) => each.name) ?? []);
  return { agent, isStart: false, rest, resumed };
}

/** Agents with which a run starts. */
export interface FirstAgents {
  /** Names of the agents of the exchange so far, if the first one is not the only one. */
  readonly names: readonly string[] | undefined;
  readonly takeover: Takeover | undefined;
}

/**
 * Returns the agents with which a run of `agent` starts: those of an earlier attempt, else the one that has the
 * conversation. A durable run records that one, since the conversation may go on before the next delivery.
 *
 * @throws {UnknownAgentError}
 */
export async function firstAgents(
  agent: AgentSpec,
  store: StoredExchange | undefined,
  recorder: TurnRecorder | undefined,
): Promise<FirstAgents> {
  const resumed = recorder === undefined ? store?.resumed : undefined;
  if (resumed !== undefined) {
    const names = resumed.agents;
    const [first, ...rest] = names ?? [];
    if (first === undefined || first === agent.name) {
      return { names, takeover: takeoverBy(agent, rest, resumed) };
    }
    return { names, takeover: { agent: starterOf(agent, first), isStart: true, rest, resumed } };
  }
  const isKnown = takersOf(agent).some(({ name }) => name === store?.holder);
  const holder = isKnown ? store?.holder : undefined;
  const name = recorder === undefined ? holder : await recorder.startWith(holder);
  if (name === undefined) return { names: undefined, takeover: undefined };
  const takeover = { agent: starterOf(agent, name), isStart: true, rest: [], resumed: undefined };
  return { names: [name], takeover };
}

function starterOf(agent: AgentSpec, name: string): AgentSpec {
  const takers = takersOf(agent);
  const starter = takers.find((taker) => taker.name === name);
  if (starter !== undefined) return starter;
  throw new UnknownAgentError(
    name,
    takers.map((taker) => taker.name),
  );
}

/**
 * Observes the part of an agent's run that this process executes.
 *
 * @param usage tokens of the agent, if it took the conversation over
 */
export async function observeLocally(
  { place, runId }: RunRequest,
  agent: AgentSpec,
  run: () => Promise<SettledAgentRun>,
  usage?: TokenUsage,
): Promise<SettledAgentRun> {
  if (place === undefined) return observeRun(agent, runId, run, usage);
  const runHere = (): Promise<SettledAgentRun | undefined> =>
    new Promise((resolve, reject) => {
      place.run.onLeave(() => resolve(undefined));
      run().then(resolve, reject);
    });
  const result = await observeRun(agent, runId, runHere, usage);
  // The run is suspended, or another process has it: nothing of it may go on here.
  return result ?? new Promise<never>(() => {});
}
