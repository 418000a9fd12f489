import { createHub, type Hub, type HubOptions } from 'hubline';

/** Creates a hub that indexes a product when its edits have paused for `pauseMs`, and at the latest after a minute. */
export function createIndexHub(
  index: (productId: string, title: string) => Promise<void>,
  pauseMs: number = 5_000,
  options: HubOptions = {},
): Hub {
  const hub = createHub({ service: 'search', ...options });
  hub.event<{ productId: string; title: string }>({
    type: 'product.edited',
    key: ({ productId }) => productId,
    debounceMs: pauseMs,
    debounceMaxMs: 60_000,
    retry: { maxAttempts: 5 },
    handler: ({ payload }) => index(payload.productId, payload.title),
  });
  return hub;
}
