import { OptionChecker } from '../../options.js';
import { type VendorProviderOptions, vendorOptionNames } from './vendor-options.js';
import { type LoadModel, VendorProvider } from './vendor-provider.js';

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
    new OptionChecker(options, vendorOptionNames, 'GeminiProvider');
    const { apiKey, baseUrl = 'https://generativelanguage.googleapis.com/v1beta' } = options;
    super('gcp.gemini', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
  return createGoogleGenerativeAI(settings).chat(modelId);
};
