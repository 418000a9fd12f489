/**
 * Errors of agents that carry no result of a run or debate. Errors of model calls are in `model/provider-error.ts`.
 *
 * @module
 */
import { HubError, quote, type SchemaIssue } from '../errors.js';

/** The model requested the same call with the same arguments `maxRepeats` times, in consecutive turns or in a cycle. */
export class StuckLoopError extends HubError {
  /** Name that the model called. Not enumerable, because the model may have invented it. */
  declare readonly toolName: string;

  /** @param exists the agent has a tool of this name */
  constructor(toolName: string, repeats: number, exists: boolean) {
    const messageWith = (tool: string): string =>
      `the model called ${tool} with the same arguments in ${repeats} turns; improve the tool's result, or raise maxRepeats`;
    super('ERR_STUCK_LOOP', messageWith(quote(toolName)), {
      publicMessage: messageWith(exists ? quote(toolName) : 'a tool that does not exist'),
    });
    Object.defineProperty(this, 'toolName', { value: toolName });
  }
}

/** The model answered twice in a row with neither text nor a tool call. */
export class EmptyAnswerError extends HubError {
  constructor(model: string) {
    super('ERR_EMPTY_ANSWER', `model ${quote(model)} returned an empty answer twice in a row`);
  }
}

/** The answer did not match `outputSchema`, also after the corrections that `outputRetries` allows. */
export class OutputSchemaError extends HubError {
  readonly fatal = true;
  /** Issues of the last answer. Not enumerable and not in the message, because they quote the answer. */
  declare readonly issues: readonly SchemaIssue[];

  constructor(agentName: string, issues: readonly SchemaIssue[]) {
    super(
      'ERR_OUTPUT_SCHEMA',
      `the answer of agent ${quote(agentName)} does not match its outputSchema; see issues of this error, describe the fields in the schema, or raise outputRetries`,
    );
    Object.defineProperty(this, 'issues', { value: issues });
  }
}

/** An answer reached its token limit before its text began, or before the JSON of an `outputSchema` was complete. */
export class TruncatedOutputError extends HubError {
  readonly fatal = true;

  /**
   * @param missing part that the answer lacks
   * @param maxTokens limit of the model's settings. Without one, the vendor's applied.
   */
  constructor(agentName: string, missing: 'text' | 'end of JSON', maxTokens: number | undefined) {
    const limit = maxTokens === undefined ? "the vendor's token limit" : `maxTokens of the model (${maxTokens})`;
    super(
      'ERR_TRUNCATED_OUTPUT',
      missing === 'text'
        ? `the answer of agent ${quote(agentName)} reached ${limit} before its text began: the model used all tokens for its reasoning; raise maxTokens, or lower reasoning`
        : `the answer of agent ${quote(agentName)} reached ${limit}, so its JSON is incomplete; raise maxTokens of the model`,
    );
  }
}

/** A run has a `costBudget` or a spending limit of cost, and a model that it calls has no price. */
export class UnknownPriceError extends HubError {
  readonly fatal = true;

  constructor(model: string) {
    super(
      'ERR_UNKNOWN_PRICE',
      `model ${quote(model)} has no price, so no limit of cost can cover it; add it to prices of the agent`,
    );
  }
}

/** The agent of `summarizeWith` returned an empty summary. */
export class EmptySummaryError extends HubError {
  constructor(agentName: string) {
    super('ERR_EMPTY_SUMMARY', `agent ${quote(agentName)} returned an empty summary of a conversation`);
  }
}

/** A custom provider returned a value that is not a {@link ModelResponse}. */
export class InvalidAnswerError extends HubError {
  constructor(expected: string, got: unknown) {
    super('ERR_INVALID_ANSWER', `the model provider must return ${expected}, got ${kindOf(got)}`);
  }
}

// Not the value: a model or a user may have written it.
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A budget of a durable model does not cover its next call. */
export class BudgetExceededError extends HubError {
  readonly fatal = true;

  /** @param budget option of the budget */
  constructor(name: string, budget: 'tokenBudget' | 'costBudget') {
    super(
      'ERR_BUDGET_EXCEEDED',
      `the ${budget} of model ${quote(name)} does not cover its next call; raise ${budget}, or shorten the task`,
    );
  }
}

/** A call of a tool with `retryable: false` was interrupted. The model receives it. */
export class InterruptedToolError extends HubError {
  constructor(toolName: string) {
    super(
      'ERR_INTERRUPTED_TOOL',
      `the call of tool ${quote(toolName)} was interrupted: it may or may not have been executed, and must not be repeated`,
    );
  }
}

/** A tool exceeded its `timeoutMs`. Reason of `ctx.signal`, and the error that the model receives. */
export class ToolTimeoutError extends HubError {
  constructor(toolName: string, timeoutMs: number) {
    super('ERR_TOOL_TIMEOUT', `tool ${quote(toolName)} took longer than its timeoutMs (${timeoutMs} ms)`);
  }
}

/** A tool call cannot be executed: the tool does not exist, or the arguments are not valid. */
export class InvalidToolCallError extends HubError {
  /** Message for the model. Not enumerable and not in `message`, because it quotes what the model wrote. */
  declare readonly forModel: string;

  constructor(message: string, forModel: string) {
    super('ERR_INVALID_TOOL_CALL', message);
    Object.defineProperty(this, 'forModel', { value: forModel });
  }
}

/** Returns the error of arguments that do not match the parameters of a tool. */
export function invalidArguments(toolName: string, issues: readonly SchemaIssue[]): InvalidToolCallError {
  const listed = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
  const message = `the arguments of ${toolName} do not match its parameters`;
  return new InvalidToolCallError(message, `${message}: ${listed}`);
}

/** The result of a tool has no JSON form. The model receives it. */
export class ToolResultNotJsonError extends HubError {
  constructor(toolName: string, reason: string, cause: unknown) {
    super('ERR_TOOL_RESULT_NOT_JSON', `the result of ${quote(toolName)} cannot be converted to JSON: ${reason}`, {
      cause,
      publicMessage: `the result of ${quote(toolName)} cannot be converted to JSON`,
    });
  }
}

/** An agent has two tools of the same name. */
export class DuplicateToolError extends HubError {
  constructor(name: string) {
    super('ERR_DUPLICATE_TOOL', `tool ${quote(name)} exists already; tool names are unique within an agent`);
  }
}

/** A registry contains an agent of this name already. */
export class DuplicateAgentError extends HubError {
  constructor(name: string) {
    super(
      'ERR_DUPLICATE_AGENT',
      `agent ${quote(name)} is registered already; agent names are unique within a registry`,
    );
  }
}

/** A `delegate` call or a pipeline step names an agent that the registry does not contain. */
export class UnknownAgentError extends HubError {
  readonly fatal = true;

  constructor(name: string, known: readonly string[]) {
    const others = known.length === 0 ? 'no other agent is' : `registered are ${known.map(quote).join(', ')}`;
    super('ERR_UNKNOWN_AGENT', `agent ${quote(name)} is not registered: ${others}`);
  }
}

/** A tool called `ctx.delegate`, but its agent was created without a `registry`. */
export class NoRegistryError extends HubError {
  constructor(agentName: string) {
    super('ERR_NO_REGISTRY', `agent ${quote(agentName)} cannot delegate; create it with a registry`);
  }
}

/** An agent delegates to itself or to one of its delegators. */
export class DelegationCycleError extends HubError {
  /** Agents from the first delegator to the refused delegate. */
  readonly chain: readonly string[];

  constructor(chain: readonly string[]) {
    super('ERR_DELEGATION_CYCLE', `delegation cycle: ${chain.map(quote).join(' -> ')}; answer without this delegation`);
    this.chain = chain;
  }
}

/** Delegation would exceed `maxDelegationDepth`. */
export class DelegationDepthError extends HubError {
  constructor(name: string, maxDelegationDepth: number) {
    super(
      'ERR_DELEGATION_DEPTH',
      `delegation to ${quote(name)} exceeds maxDelegationDepth (${maxDelegationDepth}); answer without this delegation`,
    );
  }
}

/** The delegations that start at one run would exceed its `maxDelegations`. */
export class DelegationLimitError extends HubError {
  constructor(name: string, maxDelegations: number) {
    super(
      'ERR_DELEGATION_LIMIT',
      `delegation to ${quote(name)} exceeds maxDelegations (${maxDelegations}); answer without this delegation`,
    );
  }
}

/** `ctx.emit` was called in a run that was not started by an event. */
export class EmitOutsideHubError extends HubError {
  constructor() {
    super('ERR_EMIT_OUTSIDE_HUB', 'ctx.emit is not available outside a hub; pass { hubCtx } to run, or use hub.emit');
  }
}

/** The consumer of `agent.stream` left its loop before the run ended. Reason of the run's abort. */
export class StreamClosedError extends HubError {
  constructor(agentName: string) {
    super('ERR_STREAM_CLOSED', `the consumer of ${quote(agentName)}'s stream left it early, so the run was aborted`);
  }
}

/** A second loop reads the stream of a run, whose events the first one receives. */
export class StreamLockedError extends HubError {
  constructor(agentName: string) {
    super(
      'ERR_STREAM_LOCKED',
      `a stream of ${quote(agentName)} is read already; read it once and pass the events on, or call stream again for another run`,
    );
  }
}

/** A tool message answers a call that no earlier message requests. */
export class OrphanToolMessageError extends HubError {
  constructor(toolCallId: string) {
    super(
      'ERR_ORPHAN_TOOL_MESSAGE',
      `the tool message for call ${quote(toolCallId)} is not preceded by an assistant message with that call`,
    );
  }
}

/** A stored entry of a conversation is not a message. */
export class MemoryEntryError extends HubError {
  /** Id of the conversation. Not enumerable and not in the message, because it gives access to the conversation. */
  declare readonly conversationId: string;

  constructor(agentId: string, conversationId: string) {
    super(
      'ERR_MEMORY_ENTRY',
      `a conversation of agent ${quote(agentId)} contains an entry that is not a message; clear the conversation of conversationId, and make sure that nothing else writes to its key`,
    );
    Object.defineProperty(this, 'conversationId', { value: conversationId });
  }
}

/** An agent has a tool that needs approval, and nobody can decide on its calls. */
export class NoApproverError extends HubError {
  readonly fatal = true;

  constructor(agentName: string, remedy: string) {
    super(
      'ERR_NO_APPROVER',
      `agent ${quote(agentName)} has tools that need approval, and nobody can decide: ${remedy}`,
    );
  }
}
