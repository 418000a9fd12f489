import { describe, InvalidOptionError, quote } from '../../errors.js';
import type { HandlerCtx, HandlerFunction } from '../../hub/events/context.js';
import { shortenable } from '../../hub/events/payload.js';
import { withHandlerInfo } from '../../hub/events/reported-agents.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { OptionChecker } from '../../options.js';
import { type Agent, type AgentRunOptions, checkRunOptions, isAgent } from '../agent/agent.js';
import { introspectAgents } from '../agent-spec.js';
import { delayed, inputOf } from '../as-handler.js';
import { observeDebate } from '../gen-ai-operations.js';
import { type CutText, commonLimit, cutToBytes, jsonBytes } from '../shorten-result.js';
import { type DebateConfig, DebateError, type DebateResult, type DebateSpec, runDebate } from './run-debate.js';

/** Debate of several agents about a topic. */
export interface Debate {
  /**
   * Debates `topic`. Each round runs all participants in parallel, with the topic and all earlier rounds as their
   * input. The options apply to every agent; with a `conversationId`, agents that have a memory continue that
   * conversation.
   *
   * Resolves with the result, whatever the agents do: see its `status`. A participant whose run does not complete
   * takes part in no later round, and the debate continues while two or more are left. Rejects with
   * {@link InvalidOptionError} if `topic` is not a string or an option is wrong, and with the signal's reason if the
   * debate is aborted.
   */
  run(topic: string, options?: AgentRunOptions<HandlerCtx | RunCtx>): Promise<DebateResult>;
  /**
   * Returns the debate as an event handler. Each answer is recorded: after a crash, a deploy or a retry nobody who
   * answered is asked again. The topic is derived from the payload like the input of
   * {@link Agent.asHandler}. The handler returns the result, and throws {@link DebateError} if the debate fails.
   */
  asHandler(): HandlerFunction;
}

/**
 * Creates a debate.
 *
 * @example
 * const debate = createDebate({ name: 'pricing', participants: [optimist, sceptic], moderator: editor });
 * const { output } = await debate.run('Should delivery be free?');
 *
 * @throws {InvalidOptionError}
 */
export function createDebate(config: DebateConfig): Debate {
  const spec = resolveDebateConfig(config);
  const { name, participants, moderator } = spec;
  const run: Debate['run'] = async (topic, options = {}) => {
    if (typeof topic !== 'string') throw new InvalidOptionError(`topic of debate ${quote(name)}`, 'a string', topic);
    checkRunOptions(options);
    return observeDebate(name, options.requestId, () => runDebate(spec, topic, options));
  };
  return {
    run,
    asHandler() {
      const handler: HandlerFunction = async (ctx) => {
        const { idempotencyKey } = ctx;
        const result = await run(inputOf(ctx.payload, ['input']), { idempotencyKey, hubCtx: ctx });
        if (result.status === 'failed') throw delayed(new DebateError(name, result));
        return shortenable(result, shortenDebate);
      };
      const agents = moderator === undefined ? participants : [...participants, moderator];
      return withHandlerInfo(handler, {
        kind: 'debate',
        name,
        isDurable: true,
        agents: () => introspectAgents(agents),
      });
    },
  };
}

const optionNames = ['name', 'participants', 'maxRounds', 'moderator', 'onTokenUsage', 'stopWhen'];

function resolveDebateConfig(config: DebateConfig): DebateSpec {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('createDebate', 'an object', config);
  const { name, participants, maxRounds = 3, moderator, onTokenUsage, stopWhen } = config;
  const check = new OptionChecker(config, optionNames, `debate ${describe(name)}`);
  check.that(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  const isList = Array.isArray(participants) && participants.every(isAgent);
  check.that(isList, 'participants', 'an array of agents from createAgent', participants);
  check.count('number of participants', participants.length, { min: 2 });
  const names = participants.map((participant) => participant.name);
  const duplicate = names.find((other, index) => names.indexOf(other) !== index);
  check.that(duplicate === undefined, 'participants', 'agents with different names', duplicate);
  check.count('maxRounds', maxRounds);
  check.that(moderator === undefined || isAgent(moderator), 'moderator', 'an agent from createAgent', moderator);
  check.function('onTokenUsage', onTokenUsage);
  check.function('stopWhen', stopWhen);
  return {
    name,
    participants: [...participants],
    maxRounds,
    ...(moderator && { moderator }),
    ...(onTokenUsage && { onTokenUsage }),
    ...(stopWhen && { stopWhen }),
  };
}

/** Cuts the longest texts of a debate to the same length, so that its JSON has at most `maxBytes`. */
function shortenDebate(result: DebateResult, maxBytes: number): DebateResult {
  const texts: string[] = [];
  const collect = (text: string): string => {
    texts.push(text);
    return '';
  };
  const withoutTexts = mapTexts(result, collect);
  const total = texts.reduce((sum, text) => sum + text.length, 0);
  const room = maxBytes - jsonBytes({ ...withoutTexts, omittedChars: total }) + texts.length * jsonBytes('');
  const parts = texts.map((text) => ({ bytes: jsonBytes(text), minBytes: jsonBytes('') }));
  const limit = commonLimit(parts, room);
  if (limit === undefined) return result;
  const cuts = new Map<string, CutText>();
  let omittedChars = 0;
  const cut = (text: string): string => {
    const found = cuts.get(text) ?? cutToBytes(text, limit);
    cuts.set(text, found);
    omittedChars += found.omittedChars;
    return found.text;
  };
  return { ...mapTexts(result, cut), omittedChars };
}

function mapTexts(result: DebateResult, map: (text: string) => string): DebateResult {
  const { topic, output, synthesis, rounds } = result;
  return {
    ...result,
    topic: map(topic),
    output: map(output),
    synthesis: synthesis === undefined ? undefined : map(synthesis),
    rounds: rounds.map(({ roundNumber, contributions }) => ({
      roundNumber,
      contributions: contributions.map((contribution) => ({ ...contribution, output: map(contribution.output) })),
    })),
  };
}
