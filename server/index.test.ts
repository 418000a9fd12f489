import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as hubline from './index.js';
import * as testing from './testing/index.js';
import { version } from './version.js';

it('exports these names and no others', () => {
  expect(Object.keys(hubline).sort()).toMatchInlineSnapshot(`
    [
      "BackpressureError",
      "CrashLoopError",
      "DepthLimitError",
      "DuplicateNameError",
      "EventCycleError",
      "FatalError",
      "HandlerTimeoutError",
      "HubError",
      "HubNotStartedError",
      "HubObserverError",
      "HubStartedError",
      "HubStoppedError",
      "InvalidOptionError",
      "InvalidSchemaError",
      "KeyTypeError",
      "LeaseLostError",
      "MissingPackageError",
      "PayloadNotJsonError",
      "PayloadTooLargeError",
      "RetryAfterError",
      "SchemaValidationError",
      "ShutdownError",
      "TransportUnavailableError",
      "UnknownEventError",
      "UnknownRunError",
      "UnknownWorkflowError",
      "WorkflowCancelledError",
      "WorkflowFailedError",
      "WorkflowVersionError",
      "createDashboardHandler",
      "createHub",
      "createWorkflow",
      "dashboardCspHashes",
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

it('knows its version', () => {
  const file: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(file).toMatchObject({ version });
});
