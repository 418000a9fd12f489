import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as agents from './agents/index.js';
import * as dashboard from './dashboard/index.js';
import * as hubline from './index.js';
import * as testing from './testing/index.js';
import { version } from './version.js';

it.each(Object.entries({ agents, dashboard }))('has every name of hubline/%s', (_, subpath) => {
  expect(hubline).toMatchObject(subpath);
});

it('exports exactly these names', () => {
  expect(Object.keys(hubline).sort()).toMatchInlineSnapshot(`
    [
      "AgentRegistry",
      "AgentRunError",
      "AlphaProvider",
      "AnthropicProvider",
      "AttemptEndedError",
      "BackpressureError",
      "BetaProvider",
      "CancelledError",
      "CodecError",
      "CodecMismatchError",
      "ContentFilterError",
      "ConversationMemory",
      "CrashLoopError",
      "CutStreamError",
      "DebateError",
      "DelegationCycleError",
      "DelegationDepthError",
      "DelegationLimitError",
      "DepthLimitError",
      "DuplicateAgentError",
      "DuplicateNameError",
      "DuplicateToolError",
      "EmitLimitError",
      "EmitOutsideHubError",
      "EmptyAnswerError",
      "EmptySummaryError",
      "EventCycleError",
      "FatalError",
      "GammaProvider",
      "GeminiProvider",
      "HandlerTimeoutError",
      "HubError",
      "HubNotStartedError",
      "HubObserverError",
      "HubStartedError",
      "HubStoppedError",
      "InvalidAnswerError",
      "InvalidApiKeyError",
      "InvalidKeyError",
      "InvalidOptionError",
      "InvalidSchemaError",
      "InvalidToolCallError",
      "KeyTypeError",
      "LeaseLostError",
      "McpConnectionError",
      "McpToolError",
      "MemoryEntryError",
      "MissingPackageError",
      "ModelTimeoutError",
      "NoApproverError",
      "NoRegistryError",
      "NotSubscribedError",
      "OpenAIProvider",
      "OrphanToolMessageError",
      "OutputSchemaError",
      "OversizedResponseError",
      "PartialEmitError",
      "PayloadNotJsonError",
      "PayloadTooLargeError",
      "PendingEventsError",
      "ProviderError",
      "RetiredError",
      "RetryAfterError",
      "RunErasedError",
      "RunLimitError",
      "SchemaValidationError",
      "ServiceRunningError",
      "ShutdownError",
      "StepFailedError",
      "StoredPayloadError",
      "StreamClosedError",
      "StreamLockedError",
      "StuckLoopError",
      "TooFewSpeakersError",
      "ToolResultNotJsonError",
      "ToolTimeoutError",
      "TransportUnavailableError",
      "TruncatedOutputError",
      "UnknownAgentError",
      "UnknownDeadLetterError",
      "UnknownEventError",
      "UnknownPriceError",
      "UnknownRunError",
      "UnknownWorkflowError",
      "WorkflowCancelledError",
      "WorkflowFailedError",
      "WorkflowVersionError",
      "createAgent",
      "createAgentRegistry",
      "createDashboardFetch",
      "createDashboardHandler",
      "createDebate",
      "createEvent",
      "createHub",
      "createPipeline",
      "createTool",
      "createWorkflow",
      "dashboardCspHashes",
      "defineWorkflow",
      "fallbackProvider",
      "fromLanguageModel",
      "getDashboardHtml",
      "mcpTools",
      "memoryTransport",
      "prometheus",
      "summarizeWith",
      "toUIMessageResponse",
      "toUIMessageStream",
    ]
  `);
  expect(Object.keys(testing).sort()).toMatchInlineSnapshot(`
    [
      "UnexpectedCallError",
      "UnusedScriptError",
      "createFakeClock",
      "scriptedProvider",
    ]
  `);
});

it('has the version of package.json', () => {
  const file: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(file).toMatchObject({ version });
});
