import { createHub, type Hub, type HubOptions } from 'hubline';

const threeDaysMs = 3 * 86_400_000;

/** Creates a hub that sends a reminder three days after each sign-up. */
export function createReminderHub(send: (email: string) => Promise<void>, options: HubOptions = {}): Hub {
  const hub = createHub(options);
  hub.event<{ email: string }>({
    type: 'user.signed-up',
    handler: ({ payload, emit }) => emit('reminder.due', payload, { delayMs: threeDaysMs }),
  });
  hub.event<{ email: string }>({
    type: 'reminder.due',
    retry: { maxAttempts: 3, initialDelayMs: 60_000, jitter: false },
    handler: ({ payload }) => send(payload.email),
  });
  return hub;
}
