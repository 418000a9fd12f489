import type { Envelope, Outcome } from '../delivery.js';

export function completed(followUps: readonly Envelope[] = []): Extract<Outcome, { status: 'completed' }> {
  return { status: 'completed', durationMs: 1, followUps };
}

export function failed(message: string, followUps: readonly Envelope[] = []): Extract<Outcome, { status: 'failed' }> {
  return { status: 'failed', durationMs: 1, error: { name: 'Error', message }, followUps };
}

export function retry(delayMs: number, message = 'retried'): Outcome {
  return { status: 'retry', durationMs: 1, delayMs, error: { name: 'Error', message } };
}

/** Returns the outcome of a delivery that suspends its run. @param seen number of entries that the delivery knows */
export function suspended(seen: number): Outcome {
  return { status: 'suspended', durationMs: 1, seen };
}
