/**
 * Derives the id of an event from its cause: the first 32 hexadecimal digits of SHA-1 of `<service>/<causeId>/<place>`,
 * grouped as in a UUID. All derived ids have one length, and the same cause and place always yield the same id.
 *
 * @param service - service that handles the cause: several may handle the same event
 * @param place - `success`, `emit:3`, `trigger:fulfil`: unique among the events of the cause in this service
 */
export function deriveId(service: string, causeId: string, place: string): string {
  const hex = nodeCrypto().createHash('sha1').update(`${service}/${causeId}/${place}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

/**
 * Derives the id of a run that an event triggers. Transports that compute it elsewhere must return the same id.
 *
 * @param runType - type of the run
 * @param eventType - type of the event: the service of the run learns from the id which of several triggers it was
 */
export function triggeredId(service: string, causeId: string, runType: string, eventType: string): string {
  return deriveId(service, causeId, `trigger:${runType}\u001f${eventType}`);
}

type NodeCrypto = typeof import('node:crypto');

let loaded: NodeCrypto | undefined;

/** Returns Node's module `crypto`. Loaded on first use, because it took a fifth of the import of `hubline/agents`. */
export function nodeCrypto(): NodeCrypto {
  loaded ??= process.getBuiltinModule('node:crypto');
  return loaded;
}
