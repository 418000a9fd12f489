import { messageOf } from '../errors.js';

/** Exports of `@opentelemetry/api`. */
export type OpenTelemetryApi = typeof import('@opentelemetry/api');

// Every 1.x copy of the API stores the application's providers under this symbol.
const registry = Symbol.for('opentelemetry.js.api.1');

let api: OpenTelemetryApi | undefined;
let loading: Promise<void> | undefined;
let hasLoaded = false;

/**
 * Returns the OpenTelemetry API if the application has registered an SDK, otherwise `undefined`. The check takes
 * nanoseconds. The API is an optional peer that takes as long to load as all of Hubline, so it is loaded only then.
 */
export function openTelemetry(): OpenTelemetryApi | undefined {
  if (!(registry in globalThis)) return undefined;
  if (!hasLoaded) void loadOpenTelemetry();
  return api;
}

/** Loads the API for {@link openTelemetry}. Returns `undefined` if there is nothing to load. Never rejects. */
export function loadOpenTelemetry(): Promise<void> | undefined {
  if (hasLoaded || !(registry in globalThis)) return undefined;
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  try {
    api = await import('@opentelemetry/api');
  } catch (error) {
    process.emitWarning(
      `an OpenTelemetry SDK is registered, but hubline cannot report to it: ${messageOf(error)}; npm install @opentelemetry/api`,
    );
  } finally {
    hasLoaded = true;
  }
}
