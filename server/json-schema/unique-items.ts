import type { Ajv } from 'ajv';
import type { SchemaBudget } from './schema-budget.js';

/**
 * Replaces the `uniqueItems` of `ajv`, which compares every pair of items, by one whose time grows with the size of
 * the array.
 */
export function installUniqueItems(ajv: Ajv, budget: SchemaBudget): void {
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have duplicate items' },
    validate: (isRequired: boolean, items: readonly unknown[]) => !isRequired || areUnique(items, budget),
  });
}

function areUnique(items: readonly unknown[], budget: SchemaBudget): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item, budget);
    if (seen.has(text)) return false;
    seen.add(text);
  }
  return true;
}

/** Returns JSON that is equal for equal values, whatever the order of their properties. */
function canonicalJson(value: unknown, budget: SchemaBudget): string {
  if (typeof value === 'string') {
    budget.spend(1 + (value.length >> 4));
    return JSON.stringify(value);
  }
  budget.spend(1);
  // JSON Schema compares numbers by value: 0 and -0 are one.
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, budget)).join()}]`;
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field, budget)}`);
  return `{${fields.join()}}`;
}
