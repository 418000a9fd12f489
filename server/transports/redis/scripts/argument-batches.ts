import type { BatchLimits } from '../connection/tick-batch.js';
import { maxBatch, maxBatchLength } from './limits.js';
import type { ScriptArgument } from './script.js';

/** Limits of a batch whose items are arguments of one script. */
export const argumentBatches: BatchLimits<{ readonly args: readonly ScriptArgument[] }> = {
  maxSize: maxBatch,
  maxWeight: maxBatchLength,
  weigh: ({ args }) => args.reduce<number>((sum, arg) => sum + (typeof arg === 'string' ? arg.length : 8), 0),
};
