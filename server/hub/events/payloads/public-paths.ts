import type { SchemaIssue } from '../../../errors.js';
import type { JsonSchema } from '../../../json-schema/json-schema.js';
import { publicPath } from '../../../redaction/format-path.js';

/**
 * Returns the paths of issues with `*` for every key that the schema does not declare: the keys of a record are data of
 * the payload.
 */
export function publicPaths(issues: readonly SchemaIssue[], schema: JsonSchema | undefined): readonly string[] {
  const names = schema && declaredNames(schema);
  return issues.map(({ path }) => publicPath(path, names && ((key) => names.has(key))));
}

/** Returns the names in all `properties` of a schema. */
function declaredNames(schema: JsonSchema): ReadonlySet<string> {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null || seen.has(part)) return;
    seen.add(part);
    for (const [keyword, value] of Object.entries(part)) {
      if (keyword === 'properties') for (const name of Object.keys(Object(value))) names.add(name);
      visit(value);
    }
  };
  visit(schema);
  return names;
}
