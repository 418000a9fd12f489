import { InvalidOptionError, messageOf, quote } from '../../errors.js';
import type { DurablePlace } from '../../hub/events/agent-support/durable-place.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { abortable, either } from '../abortable.js';
import type { Agent } from '../agent/agent.js';
import { createAgentContext, lineageOf, meterOf, placeOf, signalOf, toHandlerCtx } from '../agent/agent-context.js';
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

/**
 * Returns the place at which the speakers of a debate record their turns, and the key of the debate. Only the function
 * of a workflow has one: a debate goes on after the failure of a speaker, so failures have to be recorded.
 */
function placeInDebate(
  hubCtx: HandlerCtx | undefined,
  name: string,
): { readonly key: string; readonly of: DurablePlace } | undefined {
  const place = placeOf(hubCtx);
  if (place?.recordsFailures !== true) return undefined;
  const path = place.pathOf(name);
  const uses = new Map<string, number>();
  const pathOf = (speaker: string): string => {
    const use = (uses.get(speaker) ?? 0) + 1;
    uses.set(speaker, use);
    return `${path}${speaker.replaceAll('/', '%2F')} ${use} / `;
  };
  return { key: `${place.run.key}/${path}`, of: { ...place, pathOf } };
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
  const { requestId, conversationId, idempotencyKey, payload, onApproval } = options;
  if (options.approvals !== undefined) {
    throw new InvalidOptionError(`approvals of debate ${quote(name)}`, 'omitted; use onApproval', 'approvals');
  }
  const hubCtx = options.hubCtx && toHandlerCtx(options.hubCtx);
  const parent = lineageOf(hubCtx);
  // Before the first call, so that no answer is paid for if another participant is refused.
  for (const agent of participants) checkDescent(parent, agent.name);
  if (moderator !== undefined) checkDescent(parent, moderator.name);
  const listeners = [onTokenUsage, options.onTokenUsage].filter((listener) => listener !== undefined);
  const onListenerError = (err: unknown): void => {
    ctx.logger.error({ err }, `onTokenUsage of debate ${quote(name)} failed`);
  };
  const ledger = new TokenLedger({}, parent?.ledger, listeners, onListenerError, meterOf(hubCtx));
  const place = placeInDebate(hubCtx, name);
  const debateId = `${idempotencyKey ?? place?.key ?? crypto.randomUUID()}:${name}:`;
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
      approver: onApproval === undefined ? parent?.approver : { onApproval },
      delegate: () => Promise.reject(new NoRegistryError(name)),
    },
    payload,
    signal: either(options.signal, signalOf(hubCtx)),
    hubCtx,
    place: place?.of,
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
