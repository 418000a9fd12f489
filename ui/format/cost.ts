import { formatCount } from './count.js';

/** Formats a cost, whose currency only the application knows: "0.0042", "1.42", "1,204". */
export function formatCost(cost: number): string {
  if (cost > 0 && cost < 0.01) return Number(cost.toPrecision(2)).toString();
  return cost < 100 ? cost.toFixed(2) : formatCount(Math.round(cost));
}
