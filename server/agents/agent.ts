import { InvalidOptionError } from '../errors.js';
import type { HandlerCtx, HandlerFunction } from '../hub/context.js';
import { either } from './abortable.js';
import { type AgentConfig, resolveAgentConfig } from './agent-config.js';
import { introspectable } from './agent-introspection.js';
import { type AgentStream, createAgentStream } from './agent-stream.js';
import { toHandler } from './as-handler.js';
import { observeRun } from './gen-ai-operations.js';
import { type AgentRunResult, type RunRequest, runAgent } from './run.js';
import type { TokenUsage } from './token-usage.js';

/** Settings of one run. */
export interface AgentRunOptions {
  /**
   * The run's id, and with a memory the conversation that it continues: memory is kept under the agent's
   * name and this. @default a random UUID
   */
  requestId?: string;
  /**
   * The same for all attempts at one thing, such as the `idempotencyKey` of an event. With a memory an
   * attempt goes on where the one before it stopped: the conversation gets the input once, calls that were
   * carried out stay so, and an answer that is there already is returned as it is. Tokens and tool calls of
   * the result are this attempt's alone. @default none: every run asks anew
   */
  idempotencyKey?: string;
  /** What tools find as `ctx.payload`. @default the payload of `hubCtx` */
  payload?: unknown;
  /**
   * The event, or the run of another agent, that this run is part of. Tools get its fields in their
   * context; its signal aborts this run; a run of another agent shares its token budget.
   */
  hubCtx?: HandlerCtx;
  /** Aborts the run: provider, tools and delegates. `run` then rejects with its reason. */
  signal?: AbortSignal;
  /** Told of each model call's tokens, beside the agent's own `onTokenUsage`. */
  onTokenUsage?: (usage: TokenUsage) => void;
}

/** A model with a purpose and tools. */
export interface Agent {
  readonly name: string;
  readonly description: string | undefined;
  /**
   * Works on `input` until there is an answer. Resolves with the result whatever model, tools, memory or
   * delegates do, see its `status`; rejects with {@link InvalidOptionError} where `input` is no string,
   * with {@link DelegationCycleError} or {@link DelegationDepthError} where the run of `hubCtx` must not
   * lead to this agent, and with the signal's reason when the run is aborted.
   */
  run(input: string, options?: AgentRunOptions): Promise<AgentRunResult>;
  /** The same as a stream of events. */
  stream(input: string, options?: AgentRunOptions): AgentStream;
  /**
   * The agent as a handler of events. Its input is a string payload, or `payload.input` if that is a
   * string, or else the payload's JSON; events of one `requestId` share a conversation, and a
   * retry goes on with its own, see {@link AgentRunOptions.idempotencyKey}. Returns the result, with tools' values as their JSON. Throws {@link AgentRunError} where the run does not
   * complete; one that used up its turns or tokens is not tried again.
   */
  asHandler(): HandlerFunction;
}

/**
 * Makes an agent.
 *
 * @example
 * const agent = createAgent({
 *   name: 'forecaster',
 *   systemPrompt: 'You answer questions about the weather.',
 *   provider: new AlphaProvider({ apiKey }),
 *   model: { model: 'gpt-4o-mini' },
 *   tools: [weather],
 * });
 * const { output } = await agent.run('Do I need an umbrella in Bergen?');
 *
 * @throws {InvalidOptionError | InvalidSchemaError | DuplicateToolError}
 */
export function createAgent(config: AgentConfig): Agent {
  const spec = resolveAgentConfig(config);
  const { name, description } = spec;
  const agent: Agent = {
    name,
    description,
    async run(input, options = {}) {
      const request = toRequest(name, input, options);
      return observeRun(spec, request.runId, () => runAgent(spec, request));
    },
    stream(input, options = {}) {
      const request = toRequest(name, input, options);
      return createAgentStream(name, (onEvent, { signal }) =>
        observeRun(spec, request.runId, () =>
          runAgent(spec, { ...request, onEvent, signal: either(request.signal, signal) }),
        ),
      );
    },
    asHandler: () => toHandler(agent),
  };
  return introspectable(agent, spec);
}

function toRequest(name: string, input: string, options: AgentRunOptions): RunRequest {
  if (typeof input !== 'string') throw new InvalidOptionError(`input of agent "${name}"`, 'a string', input);
  const { requestId, idempotencyKey, payload, hubCtx, signal, onTokenUsage } = options;
  for (const [option, id] of Object.entries({ requestId, idempotencyKey })) {
    if (id !== undefined && (typeof id !== 'string' || id === '')) {
      throw new InvalidOptionError(option, 'a non-empty string', id);
    }
  }
  return {
    input,
    runId: requestId ?? crypto.randomUUID(),
    idempotencyKey,
    payload,
    hubCtx,
    signal: either(signal, hubCtx?.signal),
    onTokenUsage,
  };
}
