import { HubError, InvalidOptionError, isFatal, messageOf, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import type { DurablePlace } from '../../hub/events/durable-place.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { abortable, either } from '../abortable.js';
import type { Agent, AgentRunOptions } from '../agent/agent.js';
import { createAgentContext, lineageOf, meterOf, placeOf, signalOf, toHandlerCtx } from '../agent/agent-context.js';
import { AgentRunError, type AgentRunResult } from '../agent/run-result.js';
import { NoRegistryError } from '../errors.js';
import { TokenLedger } from '../model/token-ledger.js';
import { noUsage, type TokenUsage } from '../model/token-usage.js';
import { checkDescent, runWithin } from './delegation.js';

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
export async function runDebate(
  spec: DebateSpec,
  topic: string,
  options: AgentRunOptions<HandlerCtx | RunCtx>,
): Promise<DebateResult> {
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
  options: AgentRunOptions<HandlerCtx | RunCtx>,
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
      const result = await runWithin(ctx, agent, input, {
        idempotencyKey: `${debateId}${part}`,
        ...(requestId !== undefined && { requestId }),
        ...(conversationId !== undefined && { conversationId }),
      }).catch((error: unknown) => {
        ctx.signal.throwIfAborted();
        return failedRun(agent.name, ctx.runId, error);
      });
      return result.status === 'completed' ? result.output : new AgentRunError(result);
    },
  };
}

/** Returns the result of an agent of another kind than `createAgent`'s whose run rejected. @throws {HubError} */
function failedRun(agentName: string, runId: string, thrown: unknown): AgentRunResult {
  // A wrong option, or a tool that needs an approval: no answer of the other participants is worth paying for.
  if (thrown instanceof HubError) throw thrown;
  const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown });
  return { agentName, runId, output: '', messages: [], toolCalls: [], tokenUsage: noUsage(), status: 'failed', error };
}

/** Data of the prompt for one participant in one round. */
export interface SpeakerPrompt {
  readonly topic: string;
  readonly speaker: string;
  /** Participants of this round, the speaker included. */
  readonly speakers: readonly string[];
  /** The rounds before this one. */
  readonly earlier: readonly DebateRound[];
  readonly maxRounds: number;
}

/** Returns the prompt for a participant: the topic, and all contributions of earlier rounds. */
function speakerPrompt({ topic, speaker, speakers, earlier, maxRounds }: SpeakerPrompt): string {
  const others = speakers.filter((other) => other !== speaker);
  const isFirst = earlier.length === 0;
  const task = isFirst
    ? 'State your position and your reasons.'
    : 'Respond to the other participants: where they are right, where they are wrong, and what your position is now.';
  return sections(
    `You are ${speaker} in a debate with ${others.join(', ')}. This is round ${earlier.length + 1} of at most ${maxRounds}.`,
    topicText(topic),
    ...earlier.map(roundText),
    task,
  );
}

/** Returns the prompt for the moderator: all contributions of the debate. */
function moderatorPrompt(topic: string, rounds: readonly DebateRound[]): string {
  return sections(
    'You are the moderator of a debate that has ended.',
    topicText(topic),
    ...rounds.map(roundText),
    'Write the synthesis: points of agreement, open points, and the conclusion.',
  );
}

/** Returns the contributions of a round, each under its speaker's name, without those that failed. */
function contributionsText({ contributions }: DebateRound): string {
  return sections(
    ...contributions
      .filter(({ error }) => error === undefined)
      .map(({ agentName, output }) => `${agentName}:\n${quoted(output)}`),
  );
}

function topicText(topic: string): string {
  return `Topic:\n${quoted(topic)}`;
}

function roundText(round: DebateRound): string {
  return sections(`Round ${round.roundNumber}`, contributionsText(round));
}

/** Quotes every line, so that no text can pretend to be another participant's section. */
function quoted(text: string): string {
  return text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => `> ${line}`)
    .join('\n');
}

function sections(...texts: readonly string[]): string {
  return texts.join('\n\n');
}

/** Contribution of one participant to one round. */
export interface DebateContribution {
  agentName: string;
  /** The answer. If the participant failed, its last text. */
  output: string;
  /** Reason of the participant's failure. It takes part in no later round, and its output is shown to nobody. */
  error?: string;
}

/** One round of a debate: every participant contributes once. */
export interface DebateRound {
  /** Starts at 1. */
  roundNumber: number;
  /** Contributions in the order of the participants. */
  contributions: DebateContribution[];
}

/** Result of a debate. */
export interface DebateResult {
  topic: string;
  /** All rounds. If the debate failed, the rounds before the failure. */
  rounds: DebateRound[];
  /** The moderator's synthesis; `undefined` without a moderator. */
  synthesis: string | undefined;
  /** The synthesis, or without one the last round's contributions, each under its speaker's name. */
  output: string;
  /**
   * Number of characters that the texts lack, because the result of `asHandler()` would exceed
   * `maxPayloadBytes` of the hub. The longest texts are cut, and each of them ends with a note.
   */
  omittedChars?: number;
  /** Tokens of all model calls, delegates included. */
  tokenUsage: TokenUsage;
  /** `failed`: fewer than two participants were left, or the moderator or `stopWhen` failed; see `error`. */
  status: 'completed' | 'failed';
  /** Reason of the failure. Present only if the status is `failed`. */
  error?: Error;
}

/** Participants of a debate failed, and fewer than two are left. */
export class TooFewSpeakersError extends HubError {
  /** Reason of each failure, in the order of the rounds. Not enumerable, so that no logger writes the messages. */
  declare readonly failures: readonly AgentRunError[];
  /** `true` if every failure is fatal, so that the same debate fails again. */
  readonly fatal: boolean;

  /** Longest delay that a vendor requests before the next attempt, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(left: number, failures: readonly AgentRunError[]) {
    const messageWith = (reasons: readonly string[]): string =>
      `a debate needs two participants, but ${left === 0 ? 'none' : 'only one'} is left: ${reasons.join('; ')}`;
    super('ERR_TOO_FEW_SPEAKERS', messageWith(failures.map(messageOf)), {
      publicMessage: messageWith(failures.map(({ publicMessage }) => publicMessage)),
    });
    Object.defineProperty(this, 'failures', { value: failures });
    this.fatal = failures.every(isFatal);
    const delays = failures.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    if (delays.length > 0) this.retryAfterMs = Math.max(...delays);
  }
}

/** The debate of an event failed. */
export class DebateError extends HubError {
  /** Result of the debate, with its rounds and tokens. Not enumerable, so that no logger writes the contributions. */
  declare readonly result: DebateResult;
  /** `true` if a retry of the event is pointless, as for an {@link AgentRunError}. */
  readonly fatal: boolean;

  /** Delay that a vendor requests before the next attempt, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(name: string, result: DebateResult) {
    const { error } = result;
    super('ERR_DEBATE', `debate ${quote(name)} failed: ${messageOf(error)}`, { cause: error });
    Object.defineProperty(this, 'result', { value: result });
    this.fatal = isFatal(error);
    const delayed =
      error instanceof TooFewSpeakersError || error instanceof AgentRunError ? error.retryAfterMs : undefined;
    if (delayed !== undefined) this.retryAfterMs = delayed;
  }
}
