import type { Message } from '../model/message.js';
import type { ModelOptions, ModelProvider, ModelResponse, ModelStreamChunk } from '../model/model-provider.js';
import { type LanguageModel, languageModelProvider } from './language-model.js';
import { sameOriginFetch } from './same-origin-fetch.js';
import { checkApiKey, checkBaseUrl, type VendorProviderOptions } from './vendor-options.js';

/** Loads the vendor package and creates the model with this id. */
export type LoadModel = (
  modelId: string,
  settings: { apiKey: string; baseURL: string; fetch: typeof fetch },
) => Promise<LanguageModel>;

/** Base of the vendors' providers: checks and hides the key, and loads the vendor package at the first call. */
export class VendorProvider implements ModelProvider {
  readonly name: string;
  readonly jsonMode = true as const;
  // Private at run time too, so that no inspection or serialisation finds the key.
  readonly #provider: Required<ModelProvider>;

  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(name: string, { apiKey, baseUrl }: Required<VendorProviderOptions>, load: LoadModel) {
    this.name = name;
    const settings = {
      apiKey: checkApiKey(apiKey, new.target.name),
      baseURL: checkBaseUrl(baseUrl, new.target.name),
      fetch: sameOriginFetch(name),
    };
    this.#provider = languageModelProvider(name, (modelId) => load(modelId, settings), [apiKey]);
  }

  /** Rejects with {@link ProviderError}, and with the signal's reason if the call is aborted. */
  chat(messages: Message[], options: ModelOptions): Promise<ModelResponse> {
    return this.#provider.chat(messages, options);
  }

  /** Throws the errors that `chat` rejects with. */
  chatStream(messages: Message[], options: ModelOptions): AsyncIterable<ModelStreamChunk> {
    return this.#provider.chatStream(messages, options);
  }
}
