import { InvalidOptionError } from '../../errors.js';
import { isLoopbackHost, OptionChecker } from '../../options.js';
import { limitedResponse } from '../limited-response.js';
import { recordOf } from '../model/foreign-values.js';
import type { Message } from '../model/message.js';
import type { ModelOptions, ModelProvider, ModelResponse, ModelStreamChunk } from '../model/model-provider.js';
import { InvalidApiKeyError, OversizedResponseError, ProviderError } from '../model/provider-error.js';
import { refusedMetadata } from './answer-builder.js';
import { type LanguageModel, languageModelProvider } from './language-model.js';

/** Loads the vendor package and creates the model with this id. */
type LoadModel = (
  modelId: string,
  settings: { apiKey: string; baseURL: string; fetch: typeof fetch },
) => Promise<LanguageModel>;

/** Service whose models a provider calls. */
interface Vendor {
  /** Name in traces and metrics. */
  readonly name: string;
  readonly baseUrl: string;
  /** Completes the base URL of a user. */
  readonly toBaseUrl?: (baseUrl: string) => string;
  readonly load: LoadModel;
  /** Returns the `fetch` of one provider. */
  readonly wrapFetch?: (send: typeof fetch, apiKey: string) => typeof fetch;
}

const openAIUrl = 'https://api.openai.com/v1';

/** Returns OpenAI's own models: those of its hosts. */
function openAIModels(api: OpenAIApi): Vendor {
  return { name: 'openai', baseUrl: openAIUrl, wrapFetch: limitNamingFetch, load: loadOpenAI(api, 'openai') };
}

/** Returns OpenAI's models on Azure. */
function azureModels(api: OpenAIApi, apiVersion: string | undefined): Vendor {
  return {
    // Name of the semantic conventions.
    name: 'azure.ai.openai',
    baseUrl: openAIUrl,
    toBaseUrl: azureUrl,
    wrapFetch: (send, apiKey) => limitNamingFetch(azureFetch(send, apiKey, apiVersion)),
    load: loadOpenAI(api, 'azure'),
  };
}

/** @param name name of the vendor in errors, and of its metadata on messages, which another vendor cannot read */
function loadOpenAI(api: OpenAIApi, name: 'openai' | 'azure'): LoadModel {
  return async (modelId, settings) => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    return createOpenAI({ ...settings, name })[api](modelId);
  };
}

const compatibleServer: Vendor = {
  name: 'openai',
  baseUrl: openAIUrl,
  wrapFetch: limitNamingFetch,
  load: async (modelId, settings) => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const name = 'openai-compatible';
    const fixed = { name, includeUsage: true, metadataExtractor: refusalExtractor };
    return createOpenAICompatible({ ...settings, ...fixed }).chatModel(modelId);
  },
};

const anthropic: Vendor = {
  name: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  load: async (modelId, settings) => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic(settings).messages(modelId);
  },
};

const gemini: Vendor = {
  name: 'gcp.gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  load: async (modelId, settings) => {
    const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
    return createGoogleGenerativeAI(settings).chat(modelId);
  },
};

/** A key of a server without keys, such as `none` or `x`, is a word that messages contain. */
const minKeyLength = 8;

/** Base of the vendors' providers: checks and hides the key, and loads the vendor package at the first call. */
class VendorProvider implements ModelProvider {
  readonly name: string;
  readonly jsonMode = true as const;
  readonly readsParts = true as const;
  // Private at run time too, so that no inspection or serialisation finds the key.
  readonly #provider: Required<ModelProvider>;

  /**
   * @param names names of the options
   * @throws {InvalidApiKeyError | InvalidOptionError}
   */
  constructor(vendor: Vendor, options: VendorProviderOptions, names: readonly string[] = vendorOptionNames) {
    new OptionChecker(options, names, new.target.name);
    const { name, load, wrapFetch = (send) => send, toBaseUrl = (url) => url } = vendor;
    const { apiKey, baseUrl = vendor.baseUrl } = options;
    const settings = {
      apiKey: checkApiKey(apiKey, new.target.name),
      baseURL: toBaseUrl(checkBaseUrl(baseUrl, new.target.name)),
      fetch: wrapFetch(limitedFetch(name), apiKey),
    };
    this.name = name;
    const secrets = apiKey.length < minKeyLength ? [] : [apiKey];
    this.#provider = languageModelProvider(name, (modelId) => load(modelId, settings), secrets);
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

/** API of OpenAI's models. */
type OpenAIApi = 'chat' | 'responses';

/** Options of an {@link OpenAIProvider}. */
export interface OpenAIProviderOptions extends VendorProviderOptions {
  /** API key. Never shown in an error, a log or on the dashboard. For a server without keys, any text. */
  apiKey: string;
  /**
   * Base URL of the API. For Azure, the address of the resource is sufficient: `https://NAME.openai.azure.com`.
   * @default 'https://api.openai.com/v1'
   */
  baseUrl?: string;
  /**
   * API of the models. `chat`: Chat Completions, which most servers have. `responses`: OpenAI's Responses, which keeps
   * the model's reasoning between turns. Nothing is stored at OpenAI: the reasoning comes and returns encrypted.
   * @default 'chat'
   */
  api?: 'chat' | 'responses';
  /**
   * Kind of server. `openai`: OpenAI's models with their own parameters, such as `max_completion_tokens`. `azure`: the
   * same models on Azure, with its header `api-key` and a deployment in place of the model. `compatible`: any other
   * server with Chat Completions (Ollama, vLLM, Mistral, Groq ...), whose answers are validated less strictly. Set
   * `openai` or `azure` for a proxy in front of them.
   * @default derived from the host of `baseUrl`; `openai` for another host with `api: 'responses'`
   */
  dialect?: 'openai' | 'azure' | 'compatible';
  /**
   * Query parameter `api-version` of Azure. Required for a `baseUrl` with a deployment, such as
   * `https://NAME.openai.azure.com/openai/deployments/NAME`. @default none
   */
  apiVersion?: string;
}

/**
 * Provider for OpenAI's Chat Completions and Responses, for the same models on Azure, and for every server with
 * compatible Chat Completions.
 *
 * @example
 * const vendor = new OpenAIProvider({ apiKey, api: 'responses' });
 * const azure = new OpenAIProvider({ apiKey, baseUrl: 'https://my-resource.openai.azure.com' });
 * const local = new OpenAIProvider({ apiKey: 'none', baseUrl: 'http://localhost:11434/v1' });
 */
export class OpenAIProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: OpenAIProviderOptions) {
    super(vendorOf(options), options, [...vendorOptionNames, 'api', 'dialect', 'apiVersion']);
  }
}

/** Returns the service that the options name. @throws {InvalidOptionError} */
function vendorOf(options: OpenAIProviderOptions): Vendor {
  const { api = 'chat', baseUrl = openAIUrl, apiVersion } = options ?? {};
  const refuse = (option: string, expected: string, got: unknown): never => {
    throw new InvalidOptionError(`${option} of OpenAIProvider`, expected, got, 'type');
  };
  if (api !== 'chat' && api !== 'responses') refuse('api', '"chat" or "responses"', api);
  const { dialect = dialectOf(baseUrl, api) } = options ?? {};
  if (dialect !== 'openai' && dialect !== 'azure' && dialect !== 'compatible') {
    refuse('dialect', '"openai", "azure" or "compatible"', dialect);
  }
  if (dialect === 'azure') {
    checkAzure(baseUrl, api, apiVersion);
    return azureModels(api, apiVersion);
  }
  if (apiVersion !== undefined) refuse('apiVersion', 'omitted, except for Azure', apiVersion);
  if (dialect === 'openai') return openAIModels(api);
  if (api === 'responses') refuse('dialect', '"openai" or "azure" with api "responses"', dialect);
  return compatibleServer;
}

function dialectOf(baseUrl: string, api: OpenAIApi): Required<OpenAIProviderOptions>['dialect'] {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).host : '';
  if (azureHost.test(host)) return 'azure';
  return openAIHost.test(host) || api === 'responses' ? 'openai' : 'compatible';
}

/** OpenAI's own hosts: `api.openai.com`, and those of its regions, such as `eu.api.openai.com`. */
const openAIHost = /^(?:[a-z]{2}\.)?api\.openai\.com$/;

/** Hosts of Azure OpenAI and of Foundry, those of the national clouds included. */
const azureHost = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)$/;
/** Reads the refusal of a compatible server, which its package ignores. */
const refusalExtractor = {
  extractMetadata: async ({ parsedBody }: { parsedBody: unknown }) => refusedMetadata(refusalOf(parsedBody, 'message')),
  createStreamExtractor: () => {
    let isRefused = false;
    return {
      processChunk: (chunk: unknown): void => {
        isRefused ||= refusalOf(chunk, 'delta');
      },
      buildMetadata: () => refusedMetadata(isRefused),
    };
  },
};

/** Checks that Azure has the address. @throws {InvalidOptionError} */
function checkAzure(baseUrl: string, api: OpenAIApi, apiVersion: unknown): void {
  if (apiVersion !== undefined && (typeof apiVersion !== 'string' || !/^[\w-]+$/.test(apiVersion))) {
    throw new InvalidOptionError('apiVersion of OpenAIProvider', 'a version such as "2024-10-21"', apiVersion, 'type');
  }
  if (!URL.canParse(baseUrl) || !new URL(baseUrl).pathname.includes('/deployments/')) return;
  if (api === 'responses') {
    const expected = 'the address of the resource with api "responses", without a deployment: pass that as the model';
    throw new InvalidOptionError('baseUrl of OpenAIProvider', expected, new URL(baseUrl).pathname);
  }
  if (apiVersion === undefined) {
    const expected = 'set for a baseUrl with a deployment, such as "2024-10-21"';
    throw new InvalidOptionError('apiVersion of OpenAIProvider', expected, apiVersion);
  }
}

/** Returns the base URL of the API for the address of a resource, and any other URL unchanged. */
function azureUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return /^\/(openai\/?)?$/.test(pathname) ? `${origin}/openai/v1` : baseUrl;
}

/** Creates a `fetch` that sends the key and the version in Azure's form. */
function azureFetch(send: typeof fetch, apiKey: string, apiVersion: string | undefined): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.delete('authorization');
    headers.set('api-key', apiKey);
    const url = new URL(input instanceof Request ? input.url : input);
    if (apiVersion !== undefined) url.searchParams.set('api-version', apiVersion);
    return send(url, { ...init, headers });
  };
}

/**
 * Creates a `fetch` that passes the limit of a model's answers as `max_completion_tokens`, as
 * soon as the server rejected a request with `max_tokens` and accepted that one.
 */
function limitNamingFetch(send: typeof fetch): typeof fetch {
  const models = new Set<unknown>();
  return async (input, init) => {
    const renamed = renameLimit(init?.body);
    if (renamed === undefined) return send(input, init);
    const { model, body } = renamed;
    if (models.has(model)) return send(input, { ...init, body });
    const response = await send(input, init);
    const isRejected = response.status === 400 || response.status === 422;
    if (!isRejected || !/max_(completion_)?tokens/.test(await response.clone().text())) return response;
    const other = await send(input, { ...init, body });
    if (!other.ok) return response;
    models.add(model);
    return other;
  };
}

/** Returns the body of a request with `max_completion_tokens` in place of `max_tokens`, if it has that. */
function renameLimit(body: unknown): { readonly model: unknown; readonly body: string } | undefined {
  if (typeof body !== 'string' || !body.includes('"max_tokens"')) return undefined;
  const { max_tokens: limit, ...others } = recordOf(JSON.parse(body));
  if (limit === undefined) return undefined;
  return { model: others['model'], body: JSON.stringify({ ...others, max_completion_tokens: limit }) };
}

function refusalOf(body: unknown, part: 'message' | 'delta'): boolean {
  const { choices } = recordOf(body);
  const { refusal } = recordOf(recordOf(Array.isArray(choices) ? choices[0] : undefined)[part]);
  return typeof refusal === 'string' && refusal !== '';
}

/** Options of an {@link AnthropicProvider}. */
export interface AnthropicProviderOptions extends VendorProviderOptions {
  /** Base URL of the API. @default 'https://api.anthropic.com/v1' */
  baseUrl?: string;
}

/**
 * Provider for Anthropic Messages.
 *
 * @example
 * const provider = new AnthropicProvider({ apiKey });
 */
export class AnthropicProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: AnthropicProviderOptions) {
    super(anthropic, options);
  }
}

/** Options of a {@link GeminiProvider}. */
export interface GeminiProviderOptions extends VendorProviderOptions {
  /** Base URL of the API. @default 'https://generativelanguage.googleapis.com/v1beta' */
  baseUrl?: string;
}

/**
 * Provider for Gemini generateContent.
 *
 * @example
 * const provider = new GeminiProvider({ apiKey });
 */
export class GeminiProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: GeminiProviderOptions) {
    super(gemini, options);
  }
}

/** Options that every vendor's provider has. */
export interface VendorProviderOptions {
  /** API key. Never shown in an error, a log or on the dashboard. */
  apiKey: string;
  /** Base URL of the vendor's API. @default the vendor's public address */
  baseUrl?: string;
}

/** Names of the {@link VendorProviderOptions}. */
const vendorOptionNames: readonly string[] = ['apiKey', 'baseUrl'];

/**
 * Checks an API key before the vendor package receives it, because the package would show a malformed key in its error.
 *
 * @throws {InvalidApiKeyError}
 */
function checkApiKey(apiKey: unknown, provider: string): string {
  if (typeof apiKey !== 'string') throw new InvalidApiKeyError(provider, apiKey === null ? 'null' : typeof apiKey);
  if (apiKey === '') throw new InvalidApiKeyError(provider, 'an empty string');
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new InvalidApiKeyError(provider, `${apiKey.length} characters with a space, a line break or the like`);
  }
  return apiKey;
}

const warned = new Set<string>();

/**
 * Checks the base URL of a vendor's API. Warns of an address on a network without encryption, once per address.
 *
 * @throws {InvalidOptionError}
 */
function checkBaseUrl(baseUrl: unknown, provider: string): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (typeof baseUrl !== 'string' || url === undefined || !/^https?:$/.test(url.protocol)) {
    // A key may have been passed as the wrong option.
    throw new InvalidOptionError(`baseUrl of ${provider}`, 'an http or https URL', baseUrl, 'type');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    // Only the origin: the refused part may be a secret.
    throw new InvalidOptionError(`baseUrl of ${provider}`, 'a URL without user, password and query', url.origin);
  }
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !warned.has(url.origin)) {
    warned.add(url.origin);
    process.emitWarning(
      `the connection of ${provider} to ${url.origin} is not encrypted: the API key, prompts and answers are readable on the network; use https://`,
    );
  }
  return baseUrl;
}

/** Maximum size of the response of one call, streamed or not. The longest answers of models have a few MiB. */
const maxResponseBytes: number = 64 * 1024 * 1024;

/**
 * Creates a `fetch` whose responses end with {@link OversizedResponseError} at the limit.
 *
 * @param provider name in the error
 */
function limitedFetch(provider: string): typeof fetch {
  const send = sameOriginFetch(provider);
  const onExceeded = () => new OversizedResponseError(provider, maxResponseBytes);
  return async (input, init) => limitedResponse(await send(input, init), { maxBytes: maxResponseBytes, onExceeded });
}

const maxRedirects = 5;

/**
 * Creates a `fetch` that follows redirects only within the origin of the request: a redirect to another one would pass
 * the API key and the prompt to a server that nobody chose.
 *
 * @param provider name in the error
 */
function sameOriginFetch(provider: string): typeof fetch {
  return async (input, init) => {
    let url = input instanceof Request ? input.url : String(input);
    for (let redirects = 0; ; redirects += 1) {
      const response = await fetch(input instanceof Request ? input : url, { ...init, redirect: 'manual' });
      const location = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      await response.body?.cancel();
      const target = new URL(location, url);
      // 301 to 303 turn the call into a GET without its body, which no vendor answers.
      const isRepeatable = (response.status === 307 || response.status === 308) && !(input instanceof Request);
      if (target.origin !== new URL(url).origin || !isRepeatable || redirects === maxRedirects) {
        throw new ProviderError(
          `${provider} redirects (${response.status}) to ${target.origin}; set baseUrl to the final address`,
          { provider, statusCode: response.status, retryable: false },
        );
      }
      url = target.href;
    }
  };
}
