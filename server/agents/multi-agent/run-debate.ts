import { FatalError, HubError, InvalidOptionError, isFatal, messageOf, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { type DurablePlace, type Recorded, StepResult } from '../../hub/events/durable-place.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { abortable, either } from '../abortable.js';
import type { Agent, AgentRunOptions } from '../agent/agent.js';
import {
  type AgentContext,
  type AgentContextParts,
  createAgentContext,
  lineageOf,
  placeOf,
  signalOf,
  toHandlerCtx,
} from '../agent/agent-context.js';
import { AgentRunError, type AgentRunResult, type AgentRunStatus } from '../agent/run-result.js';
import { NoRegistryError } from '../errors.js';
import { SpendingMeter, type TokenLedger } from '../model/token-ledger.js';
import { type CallSpending, noUsage, type TokenUsage } from '../model/token-usage.js';
import { checkDescent, createLedger, replaySpending, runWithin } from './delegation.js';

/** Options of `createDebate`. */
export interface DebateConfig {
  /** Name of the debate in errors and traces. */
  name: string;
  /** Two or more agents with different names. */
  participants: Agent[];
  /** Maximum number of rounds. @default 3 */
  maxRounds?: number;
  /** Agent that receives all rounds after the last one and writes the synthesis. May be a participant. @default none */
  moderator?: Agent;
  /** Called with the token usage after each model call, in addition to the agents' own `onTokenUsage`. */
  onTokenUsage?: (usage: TokenUsage) => void;
  /** Called after each round but the last. `true` ends the rounds, and the moderator follows. @default never */
  stopWhen?: (round: DebateRound) => boolean | Promise<boolean>;
}

/** Validated config. */
export type DebateSpec = Readonly<DebateConfig & { maxRounds: number }>;

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
  const { ask, ledger, signal, record, end: leave } = prepareDebate(spec, options);
  const rounds: DebateRound[] = [];
  const failures: AgentRunError[] = [];
  /** Failures of the current round, which are recorded if the debate goes on without their speakers. */
  let unsettled: Answer[] = [];
  let speakers = spec.participants;

  const end = (synthesis: string | undefined, error?: Error): DebateResult => {
    const lastRound = rounds.at(-1);
    leave();
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
    const { output, failure } = answer;
    if (failure === undefined) return { agentName: agent.name, output };
    failures.push(failure);
    unsettled.push(answer);
    return { agentName: agent.name, output, error: failure.message };
  };

  while (rounds.length < maxRounds) {
    const contributions = await Promise.all(speakers.map(speak));
    const round = { roundNumber: rounds.length + 1, contributions };
    rounds.push(round);
    speakers = speakers.filter((_, index) => contributions[index]?.error === undefined);
    if (speakers.length < 2) return end(undefined, new TooFewSpeakersError(speakers.length, failures));
    await Promise.all(unsettled.map(({ settle }) => settle()));
    unsettled = [];
    if (rounds.length === maxRounds) break;
    try {
      if (await record(`stop ${rounds.length}`, () => abortable(decide(spec, round), signal))) break;
    } catch (thrown) {
      signal.throwIfAborted();
      return end(undefined, thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown }));
    }
  }
  if (moderator === undefined) return end(undefined);
  const synthesis = await ask(moderator, moderatorPrompt(topic, rounds), 'synthesis');
  return synthesis.failure === undefined ? end(synthesis.output) : end(undefined, synthesis.failure);
}

async function decide({ stopWhen }: DebateSpec, round: DebateRound): Promise<boolean> {
  return (await stopWhen?.(round)) ?? false;
}

/** Recorded answer of an agent. */
interface RecordedSpeech {
  readonly output: string;
  /** Present if its run did not complete, and the debate went on. */
  readonly failure?: { readonly status: AgentRunStatus; readonly message?: string; readonly fatal?: boolean };
  /** Spending of its run. */
  readonly spent: CallSpending;
}

/** Answer of an agent in a debate. */
interface Answer {
  readonly output: string;
  /** Present if its run did not complete. */
  readonly failure?: AgentRunError;
  /** Records the failure: a retry does not ask the agent again, because the debate went on without it. */
  settle(): Promise<void>;
}

/** Records the answers of a debate in a durable run, each as one step that contains the turns of the agent. */
class DebateRecorder {
  readonly #place: DurablePlace;
  readonly #path: string;
  readonly #uses = new Map<string, number>();

  constructor(place: DurablePlace, name: string) {
    this.#place = place;
    this.#path = place.pathOf(name);
  }

  /** Key of the debate, the same for all attempts. */
  get key(): string {
    return `${this.#place.run.key}/${this.#path}`;
  }

  /** The debate has ended, perhaps before the round that an earlier delivery reached with other settings. */
  end(): void {
    this.#place.run.markUnreached(this.#path);
  }

  /** Records what `call` returns. */
  async record(part: string, call: () => PromiseLike<boolean>): Promise<boolean> {
    const id = `${this.#path}${part}`;
    const recorded = await this.#place.run.contain(
      id,
      `${id} / `,
      async () => new StepResult(await call(), undefined, true),
    );
    return recorded.value;
  }

  /**
   * Records the answer of an agent, or returns the recorded one, whose spending `count` receives. A failure is recorded
   * if the place records failures, else by `settle`: if the debate fails with it, a retry asks the agent again.
   *
   * @param speak runs the agent at a place, and counts what it spends
   */
  async answer(
    agentName: string,
    speak: (place: DurablePlace, meter: SpendingMeter) => Promise<AgentRunResult>,
    count: (spent: CallSpending) => void,
  ): Promise<Answer> {
    const { run, recordsFailures } = this.#place;
    const use = (this.#uses.get(agentName) ?? 0) + 1;
    this.#uses.set(agentName, use);
    const id = `${this.#path}${agentName.replaceAll('/', '%2F')} ${use}`;
    const prefix = `${id} / `;
    const contain = (call: () => Promise<RecordedSpeech>): Promise<Recorded<RecordedSpeech>> =>
      run.contain(id, prefix, async () => new StepResult(await call(), undefined, true));
    let fresh: AgentRunResult | undefined;
    let spent: CallSpending = noUsage();
    try {
      const { value } = await contain(async () => {
        const meter = new SpendingMeter(spent);
        fresh = await speak({ run, recordsFailures, pathOf: () => prefix }, meter);
        spent = meter.spent;
        if (fresh.status !== 'completed' && !recordsFailures) throw unrecorded;
        return toSpeech(fresh, spent);
      });
      if (fresh !== undefined) return toAnswer(fresh);
      count(value.spent);
      return toAnswer(toResult(agentName, value));
    } catch (error) {
      const failed = fresh;
      if (error !== unrecorded || failed === undefined) throw error;
      return toAnswer(failed, async () => void (await contain(async () => toSpeech(failed, spent))));
    }
  }
}

// Compared by identity only.
const unrecorded = new Error('the failure of a speaker is not recorded yet');

function toAnswer(result: AgentRunResult, settle: () => Promise<void> = async () => {}): Answer {
  const { status, output } = result;
  return status === 'completed' ? { output, settle } : { output, failure: new AgentRunError(result), settle };
}

function toSpeech(result: AgentRunResult, spent: CallSpending): RecordedSpeech {
  const { status, output, error } = result;
  if (status === 'completed') return { output, spent };
  const { fatal } = new AgentRunError(result);
  const failure = { status, ...(error && { message: messageOf(error) }), ...(fatal && { fatal }) };
  return { output, failure, spent };
}

function toResult(agentName: string, { output, failure, spent }: RecordedSpeech): AgentRunResult {
  const { status = 'completed', message, fatal } = failure ?? {};
  const error = message === undefined ? undefined : fatal ? new FatalError(message) : new Error(message);
  const { runs: _runs, ...tokenUsage } = spent;
  const result = { agentName, runId: '', output, messages: [], toolCalls: [], tokenUsage, status };
  return error === undefined ? result : { ...result, error };
}

interface PreparedDebate {
  readonly ledger: TokenLedger;
  readonly signal: AbortSignal;
  /**
   * Resolves with the agent's answer, or with its text so far and the error of its run.
   *
   * @param part name of the part of the debate, unique per agent, for the idempotency key
   */
  ask(agent: Agent, input: string, part: string): Promise<Answer>;
  /** Records a decision in a durable run. */
  record(part: string, decide: () => PromiseLike<boolean>): PromiseLike<boolean>;
  /** The debate has ended. */
  end(): void;
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
  const listeners = [onTokenUsage, options.onTokenUsage];
  const ledger = createLedger({ kind: 'debate', name }, {}, listeners, hubCtx, () => ctx.logger);
  const place = placeOf(hubCtx);
  const recorder = place && new DebateRecorder(place, name);
  const debateId = `${idempotencyKey ?? recorder?.key ?? crypto.randomUUID()}:${name}:`;
  const parts: AgentContextParts = {
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
  };
  const ctx = createAgentContext(parts);
  const { signal } = ctx;
  const run = (within: AgentContext, agent: Agent, input: string, part: string): Promise<AgentRunResult> =>
    runWithin(within, agent, input, {
      idempotencyKey: `${debateId}${part}`,
      ...(requestId !== undefined && { requestId }),
      ...(conversationId !== undefined && { conversationId }),
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      // A wrong option, or a tool that needs an approval: no answer of the others is worth paying for.
      if (error instanceof HubError) throw error;
      return failedRun(agent.name, ctx.runId, error);
    });
  return {
    ledger,
    signal,
    async ask(agent, input, part) {
      if (recorder === undefined) return toAnswer(await run(ctx, agent, input, part));
      const speak = (own: DurablePlace, meter: SpendingMeter): Promise<AgentRunResult> =>
        run(createAgentContext({ ...parts, signal, place: own, meter }), agent, input, part);
      const answer = recorder.answer(agent.name, speak, (spent) => replaySpending(lineageOf(ctx), spent));
      return abortable(answer, signal);
    },
    record: (part, decide) => (recorder === undefined ? decide() : abortable(recorder.record(part, decide), signal)),
    end: () => recorder?.end(),
  };
}

/** Returns the result of an agent of another kind than `createAgent`'s whose run rejected. */
function failedRun(agentName: string, runId: string, thrown: unknown): AgentRunResult {
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
