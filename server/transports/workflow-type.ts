const typePrefix = 'workflow\u001f';

/** Returns the event type of a workflow's runs. It contains a control character, which no user's type can. */
export function workflowType(name: string): string {
  return `${typePrefix}${name}`;
}

/** Returns the workflow's name for a type from {@link workflowType}, and `undefined` for any other type. */
export function workflowOf(type: string): string | undefined {
  return type.startsWith(typePrefix) ? type.slice(typePrefix.length) : undefined;
}
