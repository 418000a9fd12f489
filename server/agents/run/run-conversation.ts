import { quote } from '../../errors.js';
import { type AgentContext, lineageOf } from '../agent/agent-context.js';
import type { AgentMemory } from '../memory/agent-memory.js';
import { openInRun } from './exchange/open-in-run.js';
import { StoredExchange } from './exchange/stored-exchange.js';
import type { Transcript } from './exchange/transcript.js';
import type { RunRequest } from './run-request.js';
import type { TurnRecorder } from './turn-recorder.js';

/** Parts of a run that its conversation needs. */
export interface RunConversationParts {
  readonly memory: AgentMemory;
  readonly agentName: string;
  readonly request: RunRequest;
  readonly exchangeId: string;
  readonly transcript: Transcript;
  readonly ctx: AgentContext;
  /** Present if the run is durable. */
  readonly recorder: TurnRecorder | undefined;
}

/** Conversation of a run whose agent has a memory. */
export class RunConversation {
  readonly #parts: RunConversationParts;

  constructor(parts: RunConversationParts) {
    this.#parts = parts;
  }

  /** Opens the conversation, unless a durable run has stored its part of it already. */
  async open(): Promise<StoredExchange | undefined> {
    const { memory, agentName, request, exchangeId, ctx, recorder } = this.#parts;
    const { conversationId, hubCtx, signal } = request;
    const options = {
      memory,
      agentName,
      conversationId: conversationId ?? crypto.randomUUID(),
      isShared: conversationId !== undefined,
      exchangeId,
      omit: lineageOf(hubCtx)?.debateId,
      signal,
      ctx,
    };
    if (recorder === undefined) return StoredExchange.open(options);
    if (recorder.isConversationStored) return undefined;
    const store = await openInRun(recorder.run, options);
    recorder.run.onLeave(() => void this.release());
    return store;
  }

  /** Passes the messages of a durable run to the memory. Other runs have stored each of them. */
  async store(): Promise<void> {
    const { recorder, transcript } = this.#parts;
    await recorder?.storeConversation(() => transcript.flush());
  }

  /** Passes the messages of a durable run that failed to the memory. */
  async storeFailed(): Promise<void> {
    const { recorder, transcript } = this.#parts;
    // The next attempt replays the run, and adds what follows. The function of a workflow goes on, and may not repeat it.
    if (recorder?.recordsFailures === false) await recorder.run.hold(() => transcript.flush());
    else await this.store();
  }

  async release(): Promise<void> {
    const { agentName, transcript, ctx } = this.#parts;
    try {
      await transcript.release();
    } catch (err) {
      ctx.logger.warn({ err }, `agent ${quote(agentName)} could not release its conversation at once`);
    }
  }
}
