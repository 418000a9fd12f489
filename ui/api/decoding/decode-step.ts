import type { StepIntrospection, StepStatus } from '../../../server/dashboard/protocol.js';
import { turnFacts } from './decode-turn.js';
import { type Decoder, number, object, optional, string } from './decoder.js';

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
  output: () => undefined,
});
