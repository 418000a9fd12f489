import { InvalidOptionError } from '../errors.js';
import { deriveId } from '../transports/derive-id.js';
import { either } from './abortable.js';
import type { Agent } from './agent/agent.js';
import { lineageOf, placeOf, signalOf, toHandlerCtx } from './agent/agent-context.js';
import { type AgentRunOptions, checkRunOptions } from './agent/agent-run-options.js';
import type { AgentRunResult } from './agent/agent-run-result.js';
import { createAgentStream } from './agent/agent-stream.js';
import { type AgentConfig, resolveAgentConfig } from './agent-config.js';
import { introspectable } from './handlers/agent-introspection.js';
import { toHandler } from './handlers/as-handler.js';
import { observeRun } from './observability/gen-ai-operations.js';
import type { AgentSpec } from './run/agent-spec.js';
import { runAgent } from './run/run-agent.js';
import type { RunRequest } from './run/run-request.js';

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
export function createAgent<TData = unknown>(config: AgentConfig<TData>): Agent<TData> {
  const spec = resolveAgentConfig(config);
  const { name, description } = spec;
  // The schema of the spec returns values of this type.
  const start = (request: RunRequest): Promise<AgentRunResult<TData>> => {
    return observed(spec, request) as Promise<AgentRunResult<TData>>;
  };
  const agent: Agent<TData> = {
    name,
    description,
    async run(input, options = {}) {
      return start(toRequest(name, input, options));
    },
    stream(input, options = {}) {
      const request = toRequest(name, input, options);
      return createAgentStream(name, (onEvent, { signal }) =>
        start({ ...request, onEvent, signal: either(request.signal, signal) }),
      );
    },
    asHandler: (options = {}) => toHandler(agent, options),
  };
  return introspectable(agent, spec);
}

/** Runs an agent, and observes the part of its run that this process executes. */
async function observed(spec: AgentSpec, request: RunRequest): Promise<AgentRunResult> {
  const { place, runId } = request;
  if (place === undefined) return observeRun(spec, runId, () => runAgent(spec, request));
  const runHere = (): Promise<AgentRunResult | undefined> =>
    new Promise((resolve, reject) => {
      place.run.onLeave(() => resolve(undefined));
      runAgent(spec, request).then(resolve, reject);
    });
  const result = await observeRun(spec, runId, runHere);
  // The run is suspended, or another process has it: nothing of it may go on here.
  return result ?? new Promise<never>(() => {});
}

/** Returns a conversation that only attempts with the same key share. No option can name it. */
function conversationOfAttempts(idempotencyKey: string | undefined): string | undefined {
  return idempotencyKey === undefined ? undefined : `\u0000${idempotencyKey}`;
}

function toRequest(name: string, input: string, options: AgentRunOptions): RunRequest {
  if (typeof input !== 'string') throw new InvalidOptionError(`input of agent "${name}"`, 'a string', input);
  checkRunOptions(options);
  const { requestId, conversationId, idempotencyKey, payload, signal, onTokenUsage, onApproval, approvals } = options;
  const hubCtx = options.hubCtx && toHandlerCtx(options.hubCtx);
  const isDelegated = lineageOf(hubCtx) !== undefined;
  const place = placeOf(hubCtx);
  const path = place?.pathOf(name);
  const ownId = (): string =>
    place && path !== undefined ? deriveId('agent', place.run.key, path) : crypto.randomUUID();
  return {
    input,
    runId: requestId ?? (isDelegated ? undefined : hubCtx?.eventId) ?? ownId(),
    conversationId: conversationId ?? requestId ?? conversationOfAttempts(idempotencyKey),
    idempotencyKey,
    payload,
    hubCtx,
    signal: either(signal, signalOf(hubCtx)),
    onTokenUsage,
    onApproval,
    approvals,
    place: place && path !== undefined ? { run: place.run, path, recordsFailures: place.recordsFailures } : undefined,
  };
}
