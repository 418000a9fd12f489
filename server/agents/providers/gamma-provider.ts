import { checkOptionNames } from '../../option-names.js';
import { type LoadModel, VendorProvider, type VendorProviderOptions, vendorOptionNames } from './vendor-provider.js';

/** What a {@link GammaProvider} takes. */
export interface GammaProviderOptions extends VendorProviderOptions {
  /** @default 'https://generativelanguage.googleapis.com/v1beta' */
  baseUrl?: string;
}

/**
 * Gemini generateContent.
 *
 * @example
 * const provider = new GammaProvider({ apiKey });
 */
export class GammaProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: GammaProviderOptions) {
    checkOptionNames(options, vendorOptionNames, 'GammaProvider');
    const { apiKey, baseUrl = 'https://generativelanguage.googleapis.com/v1beta' } = options;
    super('gcp.gemini', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
  return createGoogleGenerativeAI(settings).chat(modelId);
};
