import type {
  LanguageModelV3ProviderTool,
  LanguageModelV3Source,
  LanguageModelV3ToolCall,
  LanguageModelV3ToolResult,
} from '@ai-sdk/provider';
import { InvalidOptionError } from '../../errors.js';
import { isRecord, recordOf } from '../model/foreign-values.js';
import { type ModelOptions, type VendorToolName, vendorToolNames } from '../model/model-provider.js';
import type { Source, VendorCall } from '../model/vendor-parts.js';

/** Id of a tool in its vendor's package, and the name under which the vendor knows it. */
type VendorTool = Pick<LanguageModelV3ProviderTool, 'id' | 'name'>;

/** Tools by vendor. Each vendor's package sends them in its documented form. */
const vendors: readonly (readonly [provider: RegExp, tools: Readonly<Record<VendorToolName, VendorTool>>])[] = [
  [
    /^(openai|azure)\.responses$/,
    {
      webSearch: { id: 'openai.web_search', name: 'web_search' },
      codeExecution: { id: 'openai.code_interpreter', name: 'code_interpreter' },
    },
  ],
  [
    /anthropic/,
    {
      webSearch: { id: 'anthropic.web_search_20250305', name: 'web_search' },
      codeExecution: { id: 'anthropic.code_execution_20250825', name: 'code_execution' },
    },
  ],
  [
    /^google\b/,
    {
      webSearch: { id: 'google.google_search', name: 'google_search' },
      codeExecution: { id: 'google.code_execution', name: 'code_execution' },
    },
  ],
];

/** Gemini combines its tools with those of the caller from this version on. */
const combinesTools = /gemini-([3-9]|\d\d)/;

/**
 * Returns the vendor's own tools that the options switch on.
 *
 * @throws {InvalidOptionError} if the vendor has no such tool, or does not combine it with the tools of the options
 */
export function toVendorTools(
  { vendorTools = {}, tools = [] }: Pick<ModelOptions, 'vendorTools' | 'tools'>,
  provider: string,
  modelId: string,
): LanguageModelV3ProviderTool[] {
  const used = vendorToolNames.filter((name) => vendorTools[name] !== undefined && vendorTools[name] !== false);
  if (used.length === 0) return [];
  const known = vendors.find(([pattern]) => pattern.test(provider))?.[1];
  if (known === undefined) {
    const isChat = /^(openai|azure)\.chat$/.test(provider);
    const other = isChat ? 'create the OpenAIProvider with api: "responses"' : 'give the agent a tool of your own';
    throw new InvalidOptionError('vendorTools', `omitted for models of ${provider}; ${other}`, used.join(', '));
  }
  if (/^google\b/.test(provider) && tools.length > 0 && !combinesTools.test(modelId)) {
    const expected = `omitted together with other tools for ${modelId}; use Gemini 3 or later`;
    throw new InvalidOptionError('vendorTools', expected, used.join(', '));
  }
  return used.map((name) => ({ type: 'provider', ...known[name], args: { ...recordOf(vendorTools[name]) } }));
}

/** Returns a source of a vendor's answer. */
export function toSource({ providerMetadata, ...source }: LanguageModelV3Source): Source {
  const { id, title } = source;
  const citedText = Object.values(providerMetadata ?? {})
    .map((metadata) => metadata['citedText'])
    .find((text) => typeof text === 'string');
  const fields = { id, ...(title && { title }), ...(citedText && { citedText }) };
  if (source.sourceType === 'url') return { type: 'url', ...fields, url: source.url };
  const { mediaType, filename } = source;
  return { type: 'document', ...fields, mediaType, ...(filename !== undefined && { filename }) };
}

/** Returns a call that a vendor runs. */
export function toVendorCall({ toolCallId: id, toolName: name, input }: LanguageModelV3ToolCall): VendorCall {
  return { id, name, arguments: input };
}

/** Returns a call with the result that the vendor reports. @param call the call, unless an earlier answer has it */
export function withVendorResult(
  { toolCallId: id, toolName: name, result, isError }: LanguageModelV3ToolResult,
  call: VendorCall | undefined,
): VendorCall {
  return {
    ...(call ?? { id, name, arguments: '' }),
    result: withoutSealed(result),
    ...(isError === true && { isError }),
  };
}

const sealed = /^encrypted/;

/** Returns JSON without the parts that only the vendor can read: they are large, and a browser needs none of them. */
function withoutSealed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSealed);
  if (!isRecord(value)) return value;
  const readable = Object.entries(value).filter(([name]) => !sealed.test(name));
  return Object.fromEntries(readable.map(([name, each]) => [name, withoutSealed(each)]));
}
