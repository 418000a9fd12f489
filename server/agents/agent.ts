import { InvalidOptionError } from '../errors.js';
import type { HandlerFunction } from '../hub/events/context.js';
import { either } from './abortable.js';
import { type AgentConfig, resolveAgentConfig } from './agent-config.js';
import { introspectable } from './agent-introspection.js';
import { type AgentRunOptions, checkRunOptions } from './agent-run-options.js';
import { type AgentStream, createAgentStream } from './agent-stream.js';
import { toHandler } from './as-handler.js';
import { observeRun } from './gen-ai-operations.js';
import { type AgentRunResult, type RunRequest, runAgent } from './run.js';

/** A model with a purpose and tools. */
export interface Agent {
  readonly name: string;
  readonly description: string | undefined;
  /**
   * Works on `input` until there is an answer. Resolves with the result whatever model, tools, memory or
   * delegates do, see its `status`; rejects with {@link InvalidOptionError} for an `input` that is no string
   * and for wrong options, with {@link DelegationCycleError} or {@link DelegationDepthError} where the run of
   * `hubCtx` must not lead to this agent, and with the signal's reason when the run is aborted.
   */
  run(input: string, options?: AgentRunOptions): Promise<AgentRunResult>;
  /** The same as a stream of events. */
  stream(input: string, options?: AgentRunOptions): AgentStream;
  /**
   * The agent as a handler of events. Its input is a string payload, or `payload.input` if that is a
   * string, or else the payload's JSON; events of one `requestId` share a conversation, and a
   * retry goes on with its own, see {@link AgentRunOptions.idempotencyKey}. Returns the result, with tools'
   * values as their JSON. Throws {@link AgentRunError} where the run does not complete; one that used up its
   * turns or tokens is not tried again.
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
 *   provider: new OpenAIProvider({ apiKey }),
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
  checkRunOptions(options);
  const { requestId, idempotencyKey, payload, hubCtx, signal, onTokenUsage } = options;
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
