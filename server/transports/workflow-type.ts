const typePrefix = 'workflow\u001f';

/** The type under which a workflow's runs are kept. No event can have it: its type has no control character. */
export function workflowType(name: string): string {
  return `${typePrefix}${name}`;
}

/** The workflow's name, of a type that {@link workflowType} made. */
export function workflowOf(type: string): string | undefined {
  return type.startsWith(typePrefix) ? type.slice(typePrefix.length) : undefined;
}
