import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  type AgentConfig,
  AnthropicProvider,
  fromLanguageModel,
  GeminiProvider,
  type ModelProvider,
  OpenAIProvider,
} from 'hubline/agents';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the provider and model of the vendor whose API key is set, or else of a server on this machine. */
export function chooseModel(env: Environment): Pick<AgentConfig, 'provider' | 'model'> {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, OLLAMA_URL = 'http://127.0.0.1:11434/v1' } = env;
  if (OPENAI_API_KEY) {
    return { provider: new OpenAIProvider({ apiKey: OPENAI_API_KEY }), model: { model: 'gpt-4o-mini' } };
  }
  if (ANTHROPIC_API_KEY) {
    return { provider: new AnthropicProvider({ apiKey: ANTHROPIC_API_KEY }), model: { model: 'claude-haiku-4-5' } };
  }
  if (GEMINI_API_KEY) {
    return { provider: new GeminiProvider({ apiKey: GEMINI_API_KEY }), model: { model: 'gemini-2.5-flash' } };
  }
  return { provider: new OpenAIProvider({ apiKey: 'none', baseUrl: OLLAMA_URL }), model: { model: 'llama3.2' } };
}

/** Creates a provider from a package of the AI SDK, here for an OpenAI-compatible server. */
export function fromPackage(baseURL: string): ModelProvider {
  const vendor = createOpenAICompatible({ name: 'vendor', baseURL });
  return fromLanguageModel((modelId) => vendor.chatModel(modelId));
}

/** Custom provider that repeats the last message. */
export const echo: ModelProvider = {
  async chat(messages) {
    const content = messages.at(-1)?.content ?? '';
    // The provider reports no tokens: the run estimates them and marks the estimate.
    return { content, finishReason: 'stop', usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 } };
  },
};
