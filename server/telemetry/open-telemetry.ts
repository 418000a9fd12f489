import { messageOf } from '../errors.js';

/** All that `@opentelemetry/api` exports. */
export type OpenTelemetryApi = typeof import('@opentelemetry/api');

// Every copy of the API, of whatever 1.x, keeps here what an application registers.
const registry = Symbol.for('opentelemetry.js.api.1');

let api: OpenTelemetryApi | undefined;
let loading: Promise<void> | undefined;
let hasLoaded = false;

/**
 * The OpenTelemetry API where the application has registered an SDK, else `undefined`: a look-up of some
 * nanoseconds. The package, an optional peer, takes as long to load as all of Hubline and is left alone until then.
 */
export function openTelemetry(): OpenTelemetryApi | undefined {
  if (!(registry in globalThis)) return undefined;
  if (!hasLoaded) void loadOpenTelemetry();
  return api;
}

/** Resolves when {@link openTelemetry} has an API to give; `undefined` where there is nothing to wait for. Never rejects. */
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
      `an OpenTelemetry SDK is registered, and hubline tells it nothing: ${messageOf(error)}; npm install @opentelemetry/api`,
    );
  } finally {
    hasLoaded = true;
  }
}
