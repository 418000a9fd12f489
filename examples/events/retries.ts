import { createHub, type ErrorInfo, FatalError, type Hub, type HubOptions, RetryAfterError } from 'hubline';

interface Webhook {
  url: string;
  body: string;
}

/** Creates a hub that delivers webhooks and reports those that failed. */
export function createWebhookHub(onDead: (webhook: Webhook, error: ErrorInfo) => void, options: HubOptions = {}): Hub {
  const hub = createHub(options);
  hub.event<Webhook>({
    type: 'webhook.due',
    retry: { maxAttempts: 5, initialDelayMs: 200, maxDelayMs: 10_000 },
    timeoutMs: 5_000,
    onFailure: 'webhook.dead',
    async handler({ payload, signal, idempotencyKey }) {
      const { url, body } = payload;
      const headers = { 'idempotency-key': idempotencyKey };
      const response = await fetch(url, { method: 'POST', body, headers, signal });
      if (response.ok) return;
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
      if (response.status === 410) throw new FatalError('the receiver is gone');
      if (seconds >= 0) throw new RetryAfterError(seconds * 1_000);
      throw new Error(`the receiver answered ${response.status}`);
    },
  });
  hub.event<{ error: ErrorInfo; payload: Webhook }>({
    type: 'webhook.dead',
    handler: ({ payload: { error, payload } }) => onDead(payload, error),
  });
  return hub;
}

/** Replays the dead letters of one receiver and returns their number. */
export async function replayWebhooks(hub: Hub, receiver: URL): Promise<number> {
  const dead = await hub.deadLetters<Webhook>('webhook.due', { limit: 1_000 });
  const ready = dead.filter(({ payload }) => new URL(payload.url).host === receiver.host);
  for (const { id } of ready) await hub.replay(id);
  return ready.length;
}
