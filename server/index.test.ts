import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as hubline from './index.js';
import * as testing from './testing/index.js';
import { version } from './version.js';

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
      "InvalidOptionError",
      "InvalidSchemaError",
      "InvalidToolCallError",
      "KeyTypeError",
      "LeaseLostError",
      "MemoryEntryError",
      "MissingPackageError",
      "ModelTimeoutError",
      "NoRegistryError",
      "NotSubscribedError",
      "OpenAIProvider",
      "OrphanToolMessageError",
      "PayloadNotJsonError",
      "PayloadTooLargeError",
      "PendingEventsError",
      "ProviderError",
      "RetiredError",
      "RetryAfterError",
      "RunLimitError",
      "SchemaValidationError",
      "ServiceRunningError",
      "ShutdownError",
      "StepFailedError",
      "StreamClosedError",
      "StuckLoopError",
      "TooFewSpeakersError",
      "ToolResultNotJsonError",
      "ToolTimeoutError",
      "TransportUnavailableError",
      "UnknownAgentError",
      "UnknownDeadLetterError",
      "UnknownEventError",
      "UnknownRunError",
      "UnknownWorkflowError",
      "WorkflowCancelledError",
      "WorkflowFailedError",
      "WorkflowVersionError",
      "createAgent",
      "createAgentRegistry",
      "createDashboardHandler",
      "createDebate",
      "createHub",
      "createPipeline",
      "createTool",
      "createWorkflow",
      "dashboardCspHashes",
      "fromLanguageModel",
      "getDashboardHtml",
      "memoryTransport",
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
