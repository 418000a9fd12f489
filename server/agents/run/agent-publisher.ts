import type { SentText, StepScope } from '../../hub/events/durable-place.js';
import type { JoinOutput } from '../../hub/events/live-output.js';
import type { PublishedAgentEvent } from '../agent/published-events.js';
import { cutText } from '../model/foreign-values.js';
import type { ToolResult } from '../model/message.js';
import type { AnswerDelta } from '../model/model-answer.js';
import type { VendorCall } from '../model/vendor-parts.js';
import { cutContent, type ExecutedCall } from '../tools/tool-executor.js';
import type { TurnAnswer } from './recorded-turn.js';

// An entry must fit into `maxPayloadBytes` of the hub, and a few must not displace all others.
const maxTextChars = 4_096;
const maxValueChars = 65_536;

type Step = StepScope['emitter'];

/** Publishes the events of an agent, each as part of the step that the record of the run has for it. */
export class AgentPublisher {
  readonly #agent: string;
  readonly #json: { readonly json?: 'value' | 'wrapped' };
  /** Attempt at the model call that is going on. */
  #step: Step | undefined;

  /** @param json form of the answers, if they are typed */
  constructor(agent: string, json: 'value' | 'wrapped' | undefined) {
    this.#agent = agent;
    this.#json = json === undefined ? {} : { json };
  }

  /** Publishes answers as an attempt at a model call from now on. */
  enter(step: Step): void {
    this.#step = step;
  }

  /** Publishes texts that the turn has read. */
  received(turn: number, texts: readonly SentText[]): void {
    for (const { id, text } of texts)
      void publish(this.#step, { agent: this.#agent, type: 'sent-text', turn, id, text });
  }

  /** Publishes a part of an answer. The promise resolves when there is room for more. */
  async delta(turn: number, delta: AnswerDelta): Promise<void> {
    const agent = this.#agent;
    const { kind } = delta;
    if (kind === 'source') return publish(this.#step, { agent, type: 'source', turn, source: delta.source });
    if (kind === 'vendor-call') {
      return publish(this.#step, { agent, type: 'vendor-call', turn, call: cutCall(delta.call) });
    }
    for (let rest = delta.text; rest !== ''; ) {
      const part = cutText(rest, maxTextChars);
      rest = rest.slice(part.length);
      const event: PublishedAgentEvent =
        kind === 'reasoning'
          ? { agent, type: 'reasoning-delta', turn, text: part }
          : { agent, type: 'text-delta', turn, text: part, ...this.#json };
      await publish(this.#step, event, joinTexts);
    }
  }

  /** Publishes the calls of an answer that is not refused, and its end. */
  answered(turn: number, { answer, calls, refusal }: Pick<TurnAnswer, 'answer' | 'calls' | 'refusal'>): void {
    const agent = this.#agent;
    for (const { id, name, arguments: text } of refusal === undefined ? calls : []) {
      const toolCall = { id, name, arguments: text.length > maxValueChars ? '' : text };
      void publish(this.#step, { agent, type: 'tool-call', turn, toolCall });
    }
    const { usage, finishReason } = answer;
    void publish(this.#step, { agent, type: 'turn-end', turn, usage, finishReason });
  }

  /** Returns the event that asks for a decision on a call. */
  request(turn: number, toolCallId: string, approvalId: string): PublishedAgentEvent {
    return { agent: this.#agent, type: 'approval-requested', turn, toolCallId, approvalId };
  }

  /** Publishes the result of a call as it is recorded. */
  result(step: Step, turn: number, { result, content, isDenied, handoff: to }: ExecutedCall): void {
    // Files do not fit into an entry.
    const { parts: _files, ...shown } = result;
    const isCut = result.error === undefined && content.length > maxValueChars;
    const toolResult: ToolResult = isCut ? { ...shown, result: cutContent(content, maxValueChars) } : shown;
    const denied = isDenied === true ? { denied: isDenied } : {};
    const agent = this.#agent;
    void publish(step, { agent, type: 'tool-result', turn, toolResult, ...denied });
    if (to !== undefined) void publish(step, { agent, type: 'handoff', turn, from: agent, to });
  }
}

/** Never rejects: output that is refused is logged, and is not worth the run. */
async function publish(step: Step | undefined, event: PublishedAgentEvent, join?: JoinOutput): Promise<void> {
  await step?.publish(event, join).catch(() => {});
}

/** Returns a call that fits into an entry. */
function cutCall(call: VendorCall): VendorCall {
  const json = JSON.stringify(call.result) ?? '';
  const fitting = json.length > maxValueChars ? { ...call, result: cutContent(json, maxValueChars) } : call;
  return call.arguments.length > maxValueChars ? { ...fitting, arguments: '' } : fitting;
}

/** Joins texts of one kind and turn. */
const joinTexts: JoinOutput = (before, next) => {
  // What an attempt at a model call publishes.
  const [first, second] = [before, next] as [PublishedAgentEvent, PublishedAgentEvent];
  if (!('text' in first && 'text' in second) || first.type !== second.type) return undefined;
  return first.text.length + second.text.length > maxTextChars
    ? undefined
    : { ...second, text: first.text + second.text };
};
