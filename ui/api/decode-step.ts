import type {
  ReachedStep,
  StepIntrospection,
  StepStatus,
  TurnFacts,
  TurnUsage,
} from '../../server/dashboard/protocol.js';
import { array, boolean, type Decoder, number, object, optional, string } from './decoder.js';

/** Decodes tokens, and their cost. */
export const usage: Decoder<TurnUsage> = object<TurnUsage>({
  promptTokens: number,
  completionTokens: number,
  totalTokens: number,
  cachedTokens: optional(number),
  reasoningTokens: optional(number),
  cost: optional(number),
});

/** Decodes the facts about the turn of an agent. */
const turnFacts: Decoder<TurnFacts> = object<Omit<TurnFacts, 'vendorCalls'>>({
  agent: optional(string),
  model: optional(string),
  usage: optional(usage),
  isToolError: optional(boolean) as Decoder<TurnFacts['isToolError']>,
});

const stepWait = object<NonNullable<StepIntrospection['waitsFor']>>({
  since: number,
  dueAt: optional(number),
  event: optional(
    object<NonNullable<NonNullable<StepIntrospection['waitsFor']>['event']>>({ type: string, key: optional(string) }),
  ),
  runId: optional(string),
});

/** Decodes a step of a run. */
export const step: Decoder<StepIntrospection> = object<StepIntrospection>({
  name: string,
  // A newer server may have kinds and states that this page does not know.
  kind: string as Decoder<StepIntrospection['kind']>,
  status: string as Decoder<StepStatus>,
  attempt: optional(number),
  startedAt: optional(number),
  endedAt: optional(number),
  durationMs: optional(number),
  error: optional(
    object<NonNullable<StepIntrospection['error']>>({ name: string, message: string, code: optional(string) }),
  ),
  waitsFor: optional(stepWait),
  turn: optional(turnFacts),
  // The dashboard never receives outputs.
  arguments: () => undefined,
  output: () => undefined,
});

/** Decodes the steps that runs of a workflow reached. */
export const reachedSteps: Decoder<readonly ReachedStep[]> = array(
  object<ReachedStep>({
    name: string,
    kind: string as Decoder<ReachedStep['kind']>,
    stage: number,
    reached: number,
    times: number,
    isCut: optional(boolean),
    waiting: number,
    failed: number,
    failureRatio: optional(number),
    medianMs: optional(number),
  }),
);
