import { InvalidOptionError } from '../errors.js';
import { either } from './abortable.js';
import type { Agent } from './agent/agent.js';
import { type AgentRunOptions, checkRunOptions } from './agent/agent-run-options.js';
import { createAgentStream } from './agent/agent-stream.js';
import { type AgentConfig, resolveAgentConfig } from './agent-config.js';
import { introspectable } from './handlers/agent-introspection.js';
import { toHandler } from './handlers/as-handler.js';
import { observeRun } from './observability/gen-ai-operations.js';
import { type RunRequest, runAgent } from './run/run-agent.js';

/**
 * Creates an agent.
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
