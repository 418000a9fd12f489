/**
 * Failures of agents, tools, delegation and memory. Those of model calls are in `providers/provider-error.ts`.
 *
 * @module
 */
import { describe, HubError, isFatal, messageOf, quote } from '../errors.js';
import type { DebateResult } from './debate-run.js';
import type { AgentRunResult, AgentRunStatus } from './run.js';

/** The agent of an event or of a `delegate` call ended without completing. */
export class AgentRunError extends HubError {
  /** What the run came to, with its messages and tokens. */
  readonly result: AgentRunResult;
  /** Whether an event's `retry` is pointless: the same input would use up the same turns or tokens again. */
  readonly fatal: boolean;

  constructor(result: AgentRunResult) {
    const { agentName, status, error } = result;
    const cause = error === undefined ? '' : `: ${messageOf(error)}`;
    super(
      'ERR_AGENT_RUN',
      `agent ${quote(agentName)} ended as ${status}${cause}${wayOut[status]}`,
      error && { cause: error },
    );
    this.result = result;
    this.fatal = status === 'max_iterations' || status === 'token_budget_exceeded';
  }
}

const wayOut: Record<AgentRunStatus, string> = {
  completed: '',
  failed: '',
  max_iterations: '; raise maxIterations, or set finalAnswerTurn',
  token_budget_exceeded: '; raise tokenBudget, or ask for less',
};

/** So many participants of a debate failed that fewer than two are left. */
export class TooFewSpeakersError extends HubError {
  /** Why each of them failed, in the order of the rounds. */
  readonly failures: readonly AgentRunError[];
  /** Whether every failure is fatal, so that the same debate would fail again. */
  readonly fatal: boolean;

  constructor(left: number, failures: readonly AgentRunError[]) {
    const reasons = failures.map(messageOf).join('; ');
    super(
      'ERR_TOO_FEW_SPEAKERS',
      `a debate needs two participants, and ${left === 0 ? 'none' : 'one'} is left: ${reasons}`,
    );
    this.failures = failures;
    this.fatal = failures.every(isFatal);
  }
}

/** The debate of an event failed. */
export class DebateError extends HubError {
  /** What it came to, with the rounds so far and their tokens. */
  readonly result: DebateResult;
  /** Whether an event's `retry` is pointless, as for an {@link AgentRunError}. */
  readonly fatal: boolean;

  constructor(name: string, result: DebateResult) {
    const { error } = result;
    super('ERR_DEBATE', `debate ${quote(name)} failed: ${messageOf(error)}`, { cause: error });
    this.result = result;
    this.fatal = isFatal(error);
  }
}

/** The model asked for the same call with the same arguments in `maxRepeats` turns in a row. */
export class StuckLoopError extends HubError {
  readonly toolName: string;

  constructor(toolName: string, repeats: number) {
    super(
      'ERR_STUCK_LOOP',
      `the model called ${quote(toolName)} with the same arguments in ${repeats} turns in a row; improve the tool's answer, or raise maxRepeats`,
    );
    this.toolName = toolName;
  }
}

/** The model answered twice in a row with neither text nor a tool call. */
export class EmptyAnswerError extends HubError {
  constructor(model: string) {
    super('ERR_EMPTY_ANSWER', `model ${quote(model)} gave an empty answer twice in a row`);
  }
}

/** A provider of one's own returned something that is no {@link ModelResponse}. */
export class InvalidAnswerError extends HubError {
  constructor(expected: string, got: unknown) {
    super('ERR_INVALID_ANSWER', `the model provider must answer with ${expected}, got ${describe(got)}`);
  }
}

/** A tool took longer than its `timeoutMs`. Reason of `ctx.signal`, and the error that the model is told. */
export class ToolTimeoutError extends HubError {
  constructor(toolName: string, timeoutMs: number) {
    super('ERR_TOOL_TIMEOUT', `tool ${quote(toolName)} took longer than timeoutMs (${timeoutMs} ms)`);
  }
}

/** An agent has two tools of one name. */
export class DuplicateToolError extends HubError {
  constructor(name: string) {
    super('ERR_DUPLICATE_TOOL', `tool ${quote(name)} is there already; an agent's tools need names of their own`);
  }
}

/** A registry has an agent of this name. */
export class DuplicateAgentError extends HubError {
  constructor(name: string) {
    super('ERR_DUPLICATE_AGENT', `agent ${quote(name)} is registered already; names are unique in a registry`);
  }
}

/** `delegate`, or a step of a pipeline, names an agent that the registry does not have. */
export class UnknownAgentError extends HubError {
  readonly fatal = true;

  constructor(name: string, known: readonly string[]) {
    const others = known.length === 0 ? 'no other agent is' : `registered are ${known.map(quote).join(', ')}`;
    super('ERR_UNKNOWN_AGENT', `agent ${quote(name)} is not registered: ${others}`);
  }
}

/** `ctx.delegate` in a tool of an agent that was created without a `registry`. */
export class NoRegistryError extends HubError {
  constructor(agentName: string) {
    super('ERR_NO_REGISTRY', `agent ${quote(agentName)} cannot delegate: create it with a registry`);
  }
}

/** An agent delegates to itself or to one that it works for. */
export class DelegationCycleError extends HubError {
  /** The agents from the first to the one delegated to. */
  readonly chain: readonly string[];

  constructor(chain: readonly string[]) {
    super('ERR_DELEGATION_CYCLE', `delegation leads back: ${chain.map(quote).join(' -> ')}; answer without it`);
    this.chain = chain;
  }
}

/** Delegation goes deeper than `maxDelegationDepth`. */
export class DelegationDepthError extends HubError {
  constructor(name: string, maxDelegationDepth: number) {
    super(
      'ERR_DELEGATION_DEPTH',
      `delegating to ${quote(name)} would go deeper than maxDelegationDepth (${maxDelegationDepth}); answer without it`,
    );
  }
}

/** `ctx.emit` in a run that no event of a hub started. */
export class EmitOutsideHubError extends HubError {
  constructor() {
    super('ERR_EMIT_OUTSIDE_HUB', 'ctx.emit outside a hub: pass { hubCtx } to run, or emit with hub.emit');
  }
}

/** Who consumed `agent.stream` left its loop before the run had ended. Reason of the run's abort. */
export class StreamClosedError extends HubError {
  constructor(agentName: string) {
    super(
      'ERR_STREAM_CLOSED',
      `the stream of agent ${quote(agentName)} was left before its end, so its run was aborted`,
    );
  }
}

/** A tool message answers a call that no message before it asks for. */
export class OrphanToolMessageError extends HubError {
  constructor(toolCallId: string) {
    super(
      'ERR_ORPHAN_TOOL_MESSAGE',
      `the tool message for call ${quote(toolCallId)} has no assistant message with that call before it`,
    );
  }
}

/** A stored entry of a conversation is no message. */
export class MemoryEntryError extends HubError {
  constructor(agentId: string, runId: string, cause?: unknown) {
    super(
      'ERR_MEMORY_ENTRY',
      `conversation ${quote(runId)} of agent ${quote(agentId)} holds an entry that is no message; clear it, or let nothing else write under its key`,
      cause === undefined ? undefined : { cause },
    );
  }
}
