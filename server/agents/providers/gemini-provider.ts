import { checkOptionNames } from '../../option-names.js';
import { type LoadModel, VendorProvider, type VendorProviderOptions, vendorOptionNames } from './vendor-provider.js';

/** What a {@link GeminiProvider} takes. */
export interface GeminiProviderOptions extends VendorProviderOptions {
  /** @default 'https://generativelanguage.googleapis.com/v1beta' */
  baseUrl?: string;
}

/**
 * Gemini generateContent.
 *
 * @example
 * const provider = new GeminiProvider({ apiKey });
 */
export class GeminiProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: GeminiProviderOptions) {
    checkOptionNames(options, vendorOptionNames, 'GeminiProvider');
    const { apiKey, baseUrl = 'https://generativelanguage.googleapis.com/v1beta' } = options;
    super('gcp.gemini', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
  return createGoogleGenerativeAI(settings).chat(modelId);
};
