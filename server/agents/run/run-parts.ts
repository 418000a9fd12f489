import { AbortableWaits } from '../abortable.js';
import { contextWithMeter, lineageOf } from '../agent/agent-context.js';
import type { AgentSpec } from '../agent-spec.js';
import type { ToolResult } from '../model/message.js';
import type { OnDelta } from '../model/model-answer.js';
import type { CallSpending } from '../model/token-usage.js';
import { addSources, addVendorCalls, type Source, type VendorCall } from '../model/vendor-parts.js';
import { replaySpending } from '../multi-agent/delegation.js';
import { AgentPublisher } from './agent-publisher.js';
import type { TurnAnswer } from './recorded-turn.js';
import { createRunScope, type RunRequest, type RunScope } from './run-request.js';
import { RunConversation, Transcript } from './transcript.js';
import { RunTimer, TurnRecorder } from './turn-recorder.js';

/** Parts of a run that the agent that was run shares with those that take the conversation over. */
export interface RunParts {
  /** Agent that was run: its limits of turns and calls are those of the run. */
  readonly first: AgentSpec;
  /** Budget and context of that agent. */
  readonly scope: RunScope;
  readonly timer: RunTimer;
  readonly waits: AbortableWaits;
  /** Present if the run is durable. */
  readonly recorder: TurnRecorder | undefined;
  readonly exchangeId: string;
  readonly transcript: Transcript;
  /** Present if the first agent has a memory. */
  readonly conversation: RunConversation | undefined;
  /** One result per call so far, by turn and in the order of the calls. */
  readonly results: ToolResult[];
  readonly sources: Source[];
  /** Calls that vendors ran. */
  readonly vendorCalls: VendorCall[];
}

/** Creates the parts of a run of `agent`. @param publisher present if the run publishes its events */
export function createRunParts(agent: AgentSpec, request: RunRequest, publisher: AgentPublisher | undefined): RunParts {
  const { place, idempotencyKey, signal } = request;
  const { memory, name } = agent;
  const timer = new RunTimer(agent.clock);
  const waits = new AbortableWaits(signal);
  const count = (spent: CallSpending): void => replaySpending(lineageOf(scope.ctx), spent);
  const recorder = place && new TurnRecorder(place, name, timer, waits, count, publisher);
  const canResume = memory !== undefined && idempotencyKey !== undefined;
  // Without a memory another attempt cannot know this one's calls, so its calls must have other keys.
  const ownKey = recorder !== undefined || canResume ? idempotencyKey : undefined;
  const exchangeId = ownKey ?? recorder?.key ?? (request.hasNewId ? request.runId : crypto.randomUUID());
  const scope = createRunScope(agent, request, exchangeId);
  const { ctx, ledger } = scope;
  const transcript = new Transcript(recorder !== undefined || canResume, () => ledger.usageOfAttempts, signal);
  let conversation: RunConversation | undefined;
  if (memory !== undefined) {
    const own = recorder === undefined ? ctx : contextWithMeter(ctx, recorder.meterOfMemory());
    const parts = { memory, agentName: name, request, exchangeId, transcript, ctx: own, recorder };
    conversation = new RunConversation(parts);
  }
  // No spreads here and where the parts are used: what they create outlives the run.
  return {
    first: agent,
    scope,
    timer,
    waits,
    recorder,
    exchangeId,
    transcript,
    conversation,
    results: [],
    sources: [],
    vendorCalls: [],
  };
}

/** Collects the calls that the vendor of an answer ran, and its sources unless the answer was refused. */
export function collectVendorParts(
  parts: RunParts,
  { answer: { sources, vendorCalls }, refusal }: Pick<TurnAnswer, 'answer' | 'refusal'>,
): void {
  if (sources !== undefined && refusal === undefined) addSources(parts.sources, sources);
  if (vendorCalls !== undefined) addVendorCalls(parts.vendorCalls, vendorCalls);
}

/** Returns what publishes the events of an agent. */
export function publisherOf({ name, output }: AgentSpec): AgentPublisher {
  return new AgentPublisher(name, output && (output.schema.isWrapped ? 'wrapped' : 'value'));
}

/** Returns a function that publishes each part of an answer, and shows it to the reader of the stream, if there is one. */
export function publishing(publisher: AgentPublisher, transcript: Transcript, show: OnDelta | undefined): OnDelta {
  return async (delta) => {
    const room = show?.(delta);
    await publisher.delta(transcript.turns, delta);
    await room;
  };
}
