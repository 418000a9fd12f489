import { messageOf } from '../errors.js';
import { abortable, either } from './abortable.js';
import type { Agent } from './agent.js';
import { createAgentContext, lineageOf } from './agent-context.js';
import type { AgentRunOptions } from './agent-run-options.js';
import { askModerator, askSpeaker, contributionsText } from './debate-prompt.js';
import { checkDescent } from './delegation.js';
import { AgentRunError, NoRegistryError, TooFewSpeakersError } from './errors.js';
import { TokenLedger } from './token-ledger.js';
import type { TokenUsage } from './token-usage.js';

/** What one participant said in one round. */
export interface DebateContribution {
  agentName: string;
  /** The answer; of a participant that failed, the last text there was. */
  output: string;
  /** Why the participant failed. It takes part in no later round, and nobody is shown its output. */
  error?: string;
}

/** One round of a debate: every participant spoke once. */
export interface DebateRound {
  /** From 1. */
  roundNumber: number;
  /** In the order of the participants. */
  contributions: DebateContribution[];
}

/** What a debate came to. */
export interface DebateResult {
  topic: string;
  /** All of them; of a debate that failed, those so far. */
  rounds: DebateRound[];
  /** What the moderator wrote; `undefined` without one. */
  synthesis: string | undefined;
  /** The synthesis, or else the last round's contributions, each under its speaker's name. */
  output: string;
  /** Of all model calls, delegates' included. */
  tokenUsage: TokenUsage;
  /** `failed`: fewer than two participants were left, or the moderator or `stopWhen` failed; see `error`. */
  status: 'completed' | 'failed';
  /** Why the debate failed; absent otherwise. */
  error?: Error;
}

/** A `DebateConfig` that was checked. */
export interface DebateSpec {
  readonly name: string;
  readonly participants: readonly Agent[];
  readonly maxRounds: number;
  readonly moderator: Agent | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly stopWhen: ((round: DebateRound) => boolean | Promise<boolean>) | undefined;
}

/**
 * Round after round asks all participants at once, then the moderator.
 *
 * Resolves whatever agents and `stopWhen` do. Rejects with the signal's reason, for wrong options, and where
 * a debate within a run would have an agent speak that the run belongs to.
 */
export async function runDebate(spec: DebateSpec, topic: string, options: AgentRunOptions): Promise<DebateResult> {
  const { maxRounds, moderator } = spec;
  const { ask, ledger, signal } = openFloor(spec, options);
  const rounds: DebateRound[] = [];
  const failures: AgentRunError[] = [];
  let speakers = spec.participants;

  const end = (synthesis: string | undefined, error?: Error): DebateResult => {
    const lastRound = rounds.at(-1);
    return {
      topic,
      rounds,
      synthesis,
      output: synthesis ?? (lastRound === undefined ? '' : contributionsText(lastRound)),
      tokenUsage: { ...ledger.usage },
      status: error === undefined ? 'completed' : 'failed',
      ...(error && { error }),
    };
  };

  const speak = async (agent: Agent): Promise<DebateContribution> => {
    const names = speakers.map(({ name }) => name);
    const question = { topic, speaker: agent.name, speakers: names, earlier: rounds, maxRounds };
    const answer = await ask(agent, askSpeaker(question), `round ${rounds.length + 1}`);
    if (typeof answer === 'string') return { agentName: agent.name, output: answer };
    failures.push(answer);
    return { agentName: agent.name, output: answer.result.output, error: answer.message };
  };

  while (rounds.length < maxRounds) {
    const contributions = await Promise.all(speakers.map(speak));
    const round = { roundNumber: rounds.length + 1, contributions };
    rounds.push(round);
    speakers = speakers.filter((_, index) => contributions[index]?.error === undefined);
    if (speakers.length < 2) return end(undefined, new TooFewSpeakersError(speakers.length, failures));
    if (rounds.length === maxRounds) break;
    try {
      if (await abortable(decide(spec, round), signal)) break;
    } catch (thrown) {
      signal.throwIfAborted();
      return end(undefined, thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown }));
    }
  }
  if (moderator === undefined) return end(undefined);
  const synthesis = await ask(moderator, askModerator(topic, rounds), 'synthesis');
  return typeof synthesis === 'string' ? end(synthesis) : end(undefined, synthesis);
}

async function decide({ stopWhen }: DebateSpec, round: DebateRound): Promise<boolean> {
  return (await stopWhen?.(round)) ?? false;
}

interface Floor {
  readonly ledger: TokenLedger;
  readonly signal: AbortSignal;
  /**
   * Resolves with the agent's answer, or with why there is none.
   *
   * @param part of the debate, which tells what the agent is asked from what else it is asked in it
   */
  ask(agent: Agent, input: string, part: string): Promise<string | AgentRunError>;
}

/** A debate is to its agents what a delegating run is to its delegates: one ledger, one signal, one request. */
function openFloor({ name, participants, moderator, onTokenUsage }: DebateSpec, options: AgentRunOptions): Floor {
  const { requestId, idempotencyKey, payload, hubCtx } = options;
  const parent = lineageOf(hubCtx);
  // Before anyone speaks: what one of them refuses the others would be paid for.
  for (const agent of participants) checkDescent(parent, agent.name);
  if (moderator !== undefined) checkDescent(parent, moderator.name);
  const listeners = [onTokenUsage, options.onTokenUsage].filter((listener) => listener !== undefined);
  const ledger = new TokenLedger(undefined, parent?.ledger, listeners);
  const ctx = createAgentContext({
    agentName: name,
    runId: requestId ?? crypto.randomUUID(),
    // Its agents delegate for themselves, each through a registry of its own.
    lineage: {
      chain: parent?.chain ?? [],
      maxDepth: parent?.maxDepth ?? Number.POSITIVE_INFINITY,
      ledger,
      delegate: () => Promise.reject(new NoRegistryError(name)),
    },
    payload,
    signal: either(options.signal, hubCtx?.signal),
    hubCtx,
  });
  return {
    ledger,
    signal: ctx.signal,
    async ask(agent, input, part) {
      const result = await agent.run(input, {
        hubCtx: ctx,
        ...(requestId !== undefined && { requestId }),
        ...(idempotencyKey !== undefined && { idempotencyKey: `${idempotencyKey}:${name}:${part}` }),
      });
      return result.status === 'completed' ? result.output : new AgentRunError(result);
    },
  };
}
