import { describe, InvalidOptionError, quote } from '../errors.js';
import type { HandlerFunction } from '../hub/events/context.js';
import { withHandlerInfo } from '../hub/introspection/handler-info.js';
import { checkOptionNames } from '../option-names.js';
import type { Agent } from './agent.js';
import { introspectAgents } from './agent-introspection.js';
import { type AgentRunOptions, checkRunOptions } from './agent-run-options.js';
import { type DebateResult, type DebateRound, type DebateSpec, runDebate } from './debate-run.js';
import { DebateError } from './errors.js';
import { observeDebate } from './gen-ai-operations.js';
import { isAgent } from './is-agent.js';
import { inputOf } from './payload-input.js';
import type { TokenUsage } from './token-usage.js';

/** What `createDebate` takes. */
export interface DebateConfig {
  /** Names the debate in errors. */
  name: string;
  /** Two or more, each name once. */
  participants: Agent[];
  /** @default 3 */
  maxRounds?: number;
  /** Gets the whole transcript after the last round and writes the synthesis. May be a participant. @default none */
  moderator?: Agent;
  /** Told of each model call's tokens, delegates' included, beside the agents' own `onTokenUsage`. */
  onTokenUsage?: (usage: TokenUsage) => void;
  /** Asked after each round but the last; `true` ends the debate early, where the moderator goes on. @default never */
  stopWhen?: (round: DebateRound) => boolean | Promise<boolean>;
}

/** Agents that argue over a topic. */
export interface Debate {
  /**
   * Debates `topic`: each round asks all participants at once, and shows each the topic and all earlier
   * rounds. Options are those of an agent's run and go to every one; with a `requestId`, agents that have
   * a memory continue the conversation of that id.
   *
   * Resolves with the result whatever the agents do, see its `status`: a participant whose run does not
   * complete takes part in no later round, and the debate goes on while two or more are left. Rejects
   * with {@link InvalidOptionError} for a `topic` that is no string and for wrong options, and with the signal's reason when it is aborted.
   */
  run(topic: string, options?: AgentRunOptions): Promise<DebateResult>;
  /**
   * The debate as a handler of events. The topic is what an agent's input would be: a string payload,
   * `payload.input` if that is a string, or else the payload's JSON. Returns the result; throws
   * {@link DebateError} where the debate fails.
   */
  asHandler(): HandlerFunction;
}

/**
 * Makes a debate.
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
        const { requestId, idempotencyKey } = ctx;
        const result = await run(inputOf(ctx.payload, ['input']), { requestId, idempotencyKey, hubCtx: ctx });
        if (result.status === 'failed') throw new DebateError(name, result);
        return result;
      };
      const agents = moderator === undefined ? participants : [...participants, moderator];
      return withHandlerInfo(handler, { kind: 'debate', name, agents: () => introspectAgents(agents) });
    },
  };
}

const optionNames = ['name', 'participants', 'maxRounds', 'moderator', 'onTokenUsage', 'stopWhen'];

function resolveDebateConfig(config: DebateConfig): DebateSpec {
  if (typeof config !== 'object' || config === null) throw new InvalidOptionError('createDebate', 'an object', config);
  const { name, participants, maxRounds = 3, moderator, onTokenUsage, stopWhen } = config;
  const owner = `debate ${describe(name)}`;
  checkOptionNames(config, optionNames, owner);
  const check = (ok: boolean, option: string, expected: string, got: unknown): void => {
    if (!ok) throw new InvalidOptionError(`${option} of ${owner}`, expected, got);
  };
  check(typeof name === 'string' && name !== '', 'name', 'a non-empty string', name);
  const isList = Array.isArray(participants) && participants.every(isAgent);
  check(isList, 'participants', 'an array of what createAgent returns', participants);
  check(participants.length >= 2, 'number of participants', '2 or more', participants.length);
  const names = participants.map((participant) => participant.name);
  const twice = names.find((other, index) => names.indexOf(other) !== index);
  check(twice === undefined, 'participants', 'agents of different names', twice);
  check(Number.isInteger(maxRounds) && maxRounds >= 1, 'maxRounds', 'a whole number, 1 or more', maxRounds);
  check(moderator === undefined || isAgent(moderator), 'moderator', 'what createAgent returns', moderator);
  check(onTokenUsage === undefined || typeof onTokenUsage === 'function', 'onTokenUsage', 'a function', onTokenUsage);
  check(stopWhen === undefined || typeof stopWhen === 'function', 'stopWhen', 'a function', stopWhen);
  return { name, participants: [...participants], maxRounds, moderator, onTokenUsage, stopWhen };
}
