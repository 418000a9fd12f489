import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type AgentConfig,
  AlphaProvider,
  BetaProvider,
  fromLanguageModel,
  GammaProvider,
  type ModelProvider,
} from 'hubline/agents';

type Environment = Readonly<Record<string, string | undefined>>;

/** What an agent is made with: the vendor whose key is set, or else a model on this machine. */
export function chooseModel(env: Environment): Pick<AgentConfig, 'provider' | 'model'> {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OLLAMA_URL = 'http://127.0.0.1:11434/v1' } = env;
  if (OPENAI_API_KEY) {
    return { provider: new AlphaProvider({ apiKey: OPENAI_API_KEY }), model: { model: 'gpt-4o-mini' } };
  }
  if (ANTHROPIC_API_KEY) {
    return { provider: new BetaProvider({ apiKey: ANTHROPIC_API_KEY }), model: { model: 'claude-haiku-4-5' } };
  }
  if (GEMINI_API_KEY) {
    return { provider: new GammaProvider({ apiKey: GEMINI_API_KEY }), model: { model: 'gemini-2.5-flash' } };
  }
  return { provider: new AlphaProvider({ apiKey: 'none', baseUrl: OLLAMA_URL }), model: { model: 'llama3.2' } };
}

/** Models of an AI SDK package, here of a server that speaks OpenAI's format. */
export function fromPackage(baseURL: string): ModelProvider {
  const vendor = createOpenAICompatible({ name: 'vendor', baseURL });
  return fromLanguageModel((modelId) => vendor.chatModel(modelId));
}

/** A provider of one's own: it repeats what it is told. */
export const echo: ModelProvider = {
  async chat(messages) {
    const content = messages.at(-1)?.content ?? '';
    // No tokens reported: a run estimates them, and marks the estimate.
    return { content, finishReason: 'stop', usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 } };
  },
};
