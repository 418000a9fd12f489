import { OptionChecker } from '../../options.js';
import { type VendorProviderOptions, vendorOptionNames } from './vendor-options.js';
import { type LoadModel, VendorProvider } from './vendor-provider.js';

/** Options of an {@link OpenAIProvider}. */
export interface OpenAIProviderOptions extends VendorProviderOptions {
  /** API key. Never shown in an error, a log or on the dashboard. For a server without keys, any text. */
  apiKey: string;
  /** Base URL of the API. @default 'https://api.openai.com/v1' */
  baseUrl?: string;
  /**
   * Dialect of Chat Completions. `openai`: OpenAI's models with their own parameters, such as
   * `max_completion_tokens`. `compatible`: any other server (Ollama, vLLM, Mistral, Groq ...), whose answers are
   * validated less strictly. Set `openai` for a proxy of OpenAI.
   * @default derived from the host of `baseUrl`
   */
  dialect?: 'openai' | 'compatible';
}

const defaultBaseUrl = 'https://api.openai.com/v1';

/**
 * Provider for OpenAI Chat Completions, and for every server with a compatible API.
 *
 * @example
 * const vendor = new OpenAIProvider({ apiKey });
 * const local = new OpenAIProvider({ apiKey: 'none', baseUrl: 'http://localhost:11434/v1' });
 */
export class OpenAIProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: OpenAIProviderOptions) {
    const check = new OptionChecker(options, [...vendorOptionNames, 'dialect'], 'OpenAIProvider');
    const { apiKey, baseUrl = defaultBaseUrl, dialect } = options;
    const isDialect = dialect === undefined || dialect === 'openai' || dialect === 'compatible';
    check.that(isDialect, 'dialect', '"openai" or "compatible"', dialect);
    const resolved = dialect ?? (isVendor(baseUrl) ? 'openai' : 'compatible');
    super('openai', { apiKey, baseUrl }, resolved === 'openai' ? loadOpenAI : loadCompatible);
  }
}

function isVendor(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && new URL(baseUrl).host === new URL(defaultBaseUrl).host;
}

const loadOpenAI: LoadModel = async (modelId, settings) => {
  const { createOpenAI } = await import('@ai-sdk/openai');
  return createOpenAI(settings).chat(modelId);
};

const loadCompatible: LoadModel = async (modelId, settings) => {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ ...settings, name: 'openai-compatible', includeUsage: true }).chatModel(modelId);
};
