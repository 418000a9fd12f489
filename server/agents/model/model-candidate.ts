import type { MaxTokensLimit } from './max-tokens-limit.js';
import type { ModelOptions, ModelProvider } from './model-provider.js';

/** Provider and model of an agent: the first, or one that replaces those before it. */
export interface ModelCandidate {
  /** Name of the agent, for traces. */
  readonly name: string;
  readonly description: string | undefined;
  readonly provider: ModelProvider;
  readonly model: ModelOptions;
  readonly maxTokensLimit: MaxTokensLimit;
}
