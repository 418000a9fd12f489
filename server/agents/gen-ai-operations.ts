/**
 * Spans and metrics of agents, according to OpenTelemetry's semantic conventions for generative AI. They contain no
 * prompt, answer, argument or result.
 *
 * @module
 */
import type { Attributes } from '@opentelemetry/api';
import { instruments, loadOpenTelemetry, type OpenTelemetryApi, Operation, openTelemetry } from '../telemetry.js';
import { AgentRunError, type AgentRunResult } from './agent/run-result.js';
import type { ToolCall } from './model/message.js';
import type { ModelAnswer } from './model/model-answer.js';
import type { ModelOptions, ModelProvider } from './model/model-provider.js';
import type { TokenUsage } from './model/token-usage.js';

/** Agent whose operations are observed. */
interface ObservedAgent {
  readonly name: string;
  readonly description: string | undefined;
  readonly provider: Pick<ModelProvider, 'name'>;
  readonly model: ModelOptions;
}

/** Result of an observed debate. */
interface ObservedDebateResult {
  readonly tokenUsage: TokenUsage;
  readonly status: 'completed' | 'failed';
  readonly error?: Error;
}

/**
 * Observes the run of an agent. A run that does not complete is recorded as failed. `run` resolves with `undefined` if a
 * durable run leaves the process.
 *
 * @param usage tokens of the agent's part of the run, if others have a part in it
 */
export function observeRun<T extends AgentRunResult | undefined>(
  agent: ObservedAgent,
  runId: string,
  run: () => Promise<T>,
  usage?: TokenUsage,
): Promise<T> {
  const loading = loadOpenTelemetry();
  if (loading !== undefined) return loading.then(() => observeRun(agent, runId, run, usage));
  const api = openTelemetry();
  if (api === undefined) return run();
  const operation = start(api, 'invoke_agent', agent.name, modelOf(agent), {
    'gen_ai.agent.name': agent.name,
    ...(agent.description !== undefined && { 'gen_ai.agent.description': agent.description }),
    'gen_ai.conversation.id': runId,
  });
  if (operation === undefined) return run();
  return operation.measure(run, (result) => {
    if (result === undefined) {
      operation.set({ 'hubline.released': true });
      return;
    }
    operation.set({ ...usageOf(usage ?? result.tokenUsage), 'hubline.run.status': result.status });
    if (result.status !== 'completed') operation.fail(result.error ?? new AgentRunError(result));
  });
}

/** Observes one attempt at a model call. */
export function observeChat(
  agent: ObservedAgent,
  runId: string,
  attempt: number,
  options: ModelOptions,
  ask: () => PromiseLike<ModelAnswer>,
): PromiseLike<ModelAnswer> {
  const api = openTelemetry();
  if (api === undefined) return ask();
  const { model, temperature, maxTokens } = options;
  const dimensions = modelOf(agent);
  const operation = start(api, 'chat', model, dimensions, {
    'gen_ai.agent.name': agent.name,
    'gen_ai.conversation.id': runId,
    ...(temperature !== undefined && { 'gen_ai.request.temperature': temperature }),
    ...(maxTokens !== undefined && { 'gen_ai.request.max_tokens': maxTokens }),
    'hubline.attempt': attempt,
  });
  if (operation === undefined) return ask();
  return operation.measure(ask, ({ finishReason, usage }) => {
    operation.set({ 'gen_ai.response.finish_reasons': [finishReason] });
    if (usage === undefined) return;
    operation.set(usageOf(usage));
    const { tokens } = instruments(api);
    const type = (name: string): Attributes => ({ ...operation.dimensions, 'gen_ai.token.type': name });
    tokens.record(usage.promptTokens, type('input'), operation.context);
    tokens.record(usage.completionTokens, type('output'), operation.context);
  });
}

// A vendor's id may have any length.
const maxIdLength = 64;

/**
 * Observes a tool call. A call that cannot be executed is recorded as failed as well.
 *
 * @param name name of the tool; `undefined` if there is none of the name that the model invented, which can be anything
 * that the model has read
 */
export function observeTool(
  call: ToolCall,
  name: string | undefined,
  ctx: { readonly agentName: string; readonly runId: string },
  execute: () => unknown,
): unknown {
  const api = openTelemetry();
  if (api === undefined) return execute();
  const { agentName, runId } = ctx;
  const attributes = {
    'gen_ai.tool.name': name ?? 'unknown',
    'gen_ai.tool.call.id': call.id.slice(0, maxIdLength),
    'gen_ai.tool.type': 'function',
    'gen_ai.agent.name': agentName,
    'gen_ai.conversation.id': runId,
  };
  const operation = start(api, 'execute_tool', name ?? 'unknown', {}, attributes);
  return operation === undefined ? execute() : operation.measure(execute);
}

/** Observes a debate. */
export function observeDebate<TResult extends ObservedDebateResult>(
  name: string,
  requestId: string | undefined,
  run: () => Promise<TResult>,
): Promise<TResult> {
  const loading = loadOpenTelemetry();
  if (loading !== undefined) return loading.then(() => observeDebate(name, requestId, run));
  const api = openTelemetry();
  if (api === undefined) return run();
  const operation = start(
    api,
    'invoke_workflow',
    name,
    { 'gen_ai.workflow.name': name },
    requestId === undefined ? {} : { 'gen_ai.conversation.id': requestId },
  );
  if (operation === undefined) return run();
  return operation.measure(run, ({ tokenUsage, status, error }) => {
    operation.set({ ...usageOf(tokenUsage), 'hubline.run.status': status });
    if (status === 'failed') operation.fail(error);
  });
}

function start(
  api: OpenTelemetryApi,
  name: 'invoke_agent' | 'chat' | 'execute_tool' | 'invoke_workflow',
  target: string,
  dimensions: Attributes,
  attributes: Attributes,
): Operation | undefined {
  return Operation.start(api, {
    name: `${name} ${target}`,
    kind: name === 'chat' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
    dimensions: { 'gen_ai.operation.name': name, ...dimensions },
    attributes,
    histogram: instruments(api).genAiDuration,
  });
}

function modelOf({ provider, model }: ObservedAgent): Attributes {
  return { 'gen_ai.provider.name': provider.name ?? 'unknown', 'gen_ai.request.model': model.model };
}

function usageOf({ promptTokens, completionTokens, cachedTokens, cacheWriteTokens }: TokenUsage): Attributes {
  return {
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': completionTokens,
    ...(cachedTokens !== undefined && { 'gen_ai.usage.cache_read.input_tokens': cachedTokens }),
    ...(cacheWriteTokens !== undefined && { 'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens }),
  };
}
