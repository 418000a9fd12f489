import { messageOf, quote } from '../../errors.js';
import { abortable, either } from '../abortable.js';
import type { Agent } from '../agent/agent.js';
import { createAgentContext, lineageOf, signalOf } from '../agent/agent-context.js';
import { AgentRunError } from '../agent/agent-run-error.js';
import type { AgentRunOptions } from '../agent/agent-run-options.js';
import { checkDescent } from '../delegation/delegate.js';
import { NoRegistryError } from '../errors.js';
import { TokenLedger } from '../model/token-ledger.js';
import type { TokenUsage } from '../model/token-usage.js';
import { TooFewSpeakersError } from './debate-errors.js';
import { contributionsText, moderatorPrompt, speakerPrompt } from './debate-prompt.js';
import type { DebateContribution, DebateResult, DebateRound } from './debate-result.js';

/** Validated `DebateConfig`. */
export interface DebateSpec {
  readonly name: string;
  readonly participants: readonly Agent[];
  readonly maxRounds: number;
  readonly moderator: Agent | undefined;
  readonly onTokenUsage: ((usage: TokenUsage) => void) | undefined;
  readonly stopWhen: ((round: DebateRound) => boolean | Promise<boolean>) | undefined;
}

/**
 * Runs all participants in parallel in each round, then the moderator.
 *
 * Resolves whatever agents and `stopWhen` do. Rejects with the signal's reason, if an option is wrong, and if the run
 * of `hubCtx` must not delegate to one of the agents.
 */
export async function runDebate(spec: DebateSpec, topic: string, options: AgentRunOptions): Promise<DebateResult> {
  const { maxRounds, moderator } = spec;
  const { ask, ledger, signal } = prepareDebate(spec, options);
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
    const prompt = speakerPrompt({ topic, speaker: agent.name, speakers: names, earlier: rounds, maxRounds });
    const answer = await ask(agent, prompt, `round ${rounds.length + 1}`);
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
  const synthesis = await ask(moderator, moderatorPrompt(topic, rounds), 'synthesis');
  return typeof synthesis === 'string' ? end(synthesis) : end(undefined, synthesis);
}

async function decide({ stopWhen }: DebateSpec, round: DebateRound): Promise<boolean> {
  return (await stopWhen?.(round)) ?? false;
}

interface PreparedDebate {
  readonly ledger: TokenLedger;
  readonly signal: AbortSignal;
  /**
   * Resolves with the agent's answer, or with the error of its run.
   *
   * @param part name of the part of the debate, unique per agent, for the idempotency key
   */
  ask(agent: Agent, input: string, part: string): Promise<string | AgentRunError>;
}

/** Creates the context in which the agents of a debate run, as a delegating run does: one ledger, signal and request. */
function prepareDebate(
  { name, participants, moderator, onTokenUsage }: DebateSpec,
  options: AgentRunOptions,
): PreparedDebate {
  const { requestId, conversationId, idempotencyKey, payload, hubCtx } = options;
  const parent = lineageOf(hubCtx);
  // Before the first call, so that no answer is paid for if another participant is refused.
  for (const agent of participants) checkDescent(parent, agent.name);
  if (moderator !== undefined) checkDescent(parent, moderator.name);
  const listeners = [onTokenUsage, options.onTokenUsage].filter((listener) => listener !== undefined);
  const ledger = new TokenLedger({}, parent?.ledger, listeners, (err) => {
    ctx.logger.error({ err }, `onTokenUsage of debate ${quote(name)} failed`);
  });
  const debateId = `${idempotencyKey ?? crypto.randomUUID()}:${name}:`;
  const ctx = createAgentContext({
    agentName: name,
    runId: requestId ?? hubCtx?.eventId ?? crypto.randomUUID(),
    // Each participant delegates through its own registry.
    lineage: {
      chain: parent?.chain ?? [],
      limits: parent?.limits,
      ledger,
      exchangeId: debateId,
      debateId,
      delegate: () => Promise.reject(new NoRegistryError(name)),
    },
    payload,
    signal: either(options.signal, signalOf(hubCtx)),
    hubCtx,
  });
  return {
    ledger,
    signal: ctx.signal,
    async ask(agent, input, part) {
      const result = await agent.run(input, {
        hubCtx: ctx,
        idempotencyKey: `${debateId}${part}`,
        ...(requestId !== undefined && { requestId }),
        ...(conversationId !== undefined && { conversationId }),
      });
      return result.status === 'completed' ? result.output : new AgentRunError(result);
    },
  };
}
