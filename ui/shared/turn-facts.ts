import type { StepIntrospection } from '../../server/dashboard/protocol.js';
import { formatCost } from '../format/cost.js';
import { formatCount } from '../format/count.js';

/** Returns the facts about a step of an agent: its model, tokens and cost, or its error. Empty for other steps. */
export function turnFacts({ kind, turn, error }: StepIntrospection): readonly string[] {
  const { model, usage, isToolError } = turn ?? {};
  return [
    ...(model === undefined ? [] : [model]),
    ...(usage === undefined
      ? []
      : [`${formatCount(usage.promptTokens)} + ${formatCount(usage.completionTokens)} tokens`]),
    ...(usage?.cachedTokens === undefined ? [] : [`${formatCount(usage.cachedTokens)} cached`]),
    ...(usage?.reasoningTokens === undefined ? [] : [`${formatCount(usage.reasoningTokens)} reasoning`]),
    ...(usage?.cost === undefined ? [] : [`cost ${formatCost(usage.cost)}`]),
    ...(kind === 'approval' ? ['approval'] : []),
    ...(isToolError === true ? ['the model received an error'] : []),
    ...(error === undefined ? [] : [`${error.name}: ${error.message}`]),
  ];
}
